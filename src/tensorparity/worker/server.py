"""The worker's loop: one request at a time, each answered, whatever the library does."""

import gc
import importlib
import importlib.util
import os
import sys
import time
import traceback

from . import protocol
from .attempts import attempt_groups, jobs_of
from .contract import Job, LibraryMissing, Unsupported, VersionMismatch, inspected_path
from .lines import LineCoverage


def serve(read_fd, write_fd):
    """Answer requests until the host closes the pipe."""
    channel = protocol.Channel(read_fd, write_fd)
    session = Session()
    while True:
        frame = channel.receive()
        if frame is None or frame.header.get("do") == "exit":
            _leave()
        header, arrays = session.answer(frame)
        _send(channel, frame.request_id, header, arrays)


def _send(channel, request_id, header, arrays):
    try:
        channel.send(protocol.RESPONSE, request_id, header, arrays)
    except protocol.ProtocolError as error:  # what the library returned does not travel: our limit, not its error
        failure = {"type": type(error).__name__, "message": str(error), "node": None, "detail": ""}
        channel.send(protocol.RESPONSE, request_id, dict(header, status="unsupported", failure=failure), {})


def _leave():
    try:
        sys.stderr.flush()
    except (ValueError, OSError):  # a library has closed it
        pass
    os._exit(0)  # libraries hang or crash in their exit handlers; there is nothing left to save


class Session(object):
    """One adapter, and the requests it can be asked for."""

    def __init__(self):
        self._adapter = None
        self._lines = None
        self._last_record = {}

    def answer(self, frame):
        """Return the header and arrays of the answer; never raises."""
        handlers = {
            "start": self._start,
            "run": self._run,
            "describe": self._describe,
            "attempt": self._attempt,
            "pack": self._pack,
            "import": self._import,
            "train": self._train,
            "make": self._make,
            "export": self._export,
            "lines": self._report_lines,
        }
        handler = handlers.get(frame.header.get("do"))
        started, cpu = time.time(), time.process_time()
        try:
            if handler is None:
                raise Unsupported("request {!r} is not known".format(frame.header.get("do")))
            header, arrays = handler(frame)
        except BaseException as error:  # SystemExit and KeyboardInterrupt out of a library are outcomes too
            header, arrays = self._failure(error), {}
        header["seconds"] = time.time() - started
        header["cpu_seconds"] = time.process_time() - cpu
        header["record"] = self._record()
        return header, arrays

    def _record(self):
        """Return the circumstances, or what they were when the library could last say."""
        try:
            self._last_record = self._adapter.record() if self._adapter else {}
        except BaseException:  # the case's own answer must not be lost over it
            pass
        return self._last_record

    def _start(self, frame):
        header = frame.header
        if header.get("lines"):
            self._lines = LineCoverage(header["lines"])
            self._lines.start()
        module = load_adapter_module(header["adapter"])
        adapter = module.make_adapter(header.get("flavour", ""), header.get("options", {}))
        adapter.start()
        _import_user_modules(header.get("import_paths", []), header.get("imports", []))
        _plant_fault(header.get("fault"), header["target"])
        adapter.fault = header.get("fault_name")
        self._adapter = adapter
        _set_aside_garbage()
        return {"status": "completed", "abilities": sorted(adapter.ABILITIES)}, {}

    def _run(self, frame):
        result = self._adapter.run(Job(frame.header["case"], frame.arrays))
        header = {"status": "completed", "loss": result.loss, "losses": result.losses, "symbolic": result.symbolic}
        if result.reply is not None:
            header["reply"] = result.reply
        return header, result.arrays()

    def _describe(self, frame):
        """What the library offers, as JSON; arrays of valid inputs are outputs."""
        job = Job(frame.header["case"], {})
        if job.goal == "apis":
            return {"status": "completed", "reply": self._adapter.list_apis()}, {}
        reply, arrays = self._adapter.list_samples(job.subject.get("kwargs", {}))
        return {"status": "completed", "reply": reply}, {"outputs:" + name: array for name, array in arrays.items()}

    def _attempt(self, frame):
        """Calls of unknown functions, each group in a process forked for it; only what is accepted comes back."""
        groups = jobs_of(frame.header, frame.arrays)
        return {"status": "completed", "attempts": attempt_groups(self._adapter, groups, frame.header["seconds"])}, {}

    def _pack(self, frame):
        """Several cases as one unit; array names begin with the case's place."""
        cases = frame.header["cases"]
        arrays = [{} for _ in cases]
        for name, array in frame.arrays.items():
            place, _, rest = name.partition("/")
            arrays[int(place)][rest] = array
        results = self._adapter.run_pack([Job(case, own) for case, own in zip(cases, arrays)])
        found = {}
        for place, result in enumerate(results):
            for name, array in result.arrays().items():
                found["{}/{}".format(place, name)] = array
        replies = [result.reply for result in results]
        return {"status": "completed", "loss": None, "losses": [], "replies": replies}, found

    def _import(self, frame):
        graph, weights, notes = self._adapter.import_model(
            inspected_path(frame.header), frame.header.get("trust", False)
        )
        return {"status": "completed", "graph": graph, "notes": notes}, weights

    def _train(self, frame):
        weights, history = self._adapter.train(Job(frame.header["case"], frame.arrays), frame.header["training"])
        return {"status": "completed", "history": history}, weights

    def _make(self, frame):
        model, notes = self._adapter.make_model(frame.header["recipe"])
        return {"status": "completed", "notes": notes}, {"weights:model": model}

    def _export(self, frame):
        header = frame.header
        if "case" in header:
            export = self._adapter.export_case(Job(header["case"], frame.arrays), header["form"])
        else:
            export = self._adapter.export_model(inspected_path(header), header["form"], header.get("trust", False))
        answer = {"status": "completed", "exporter": export.exporter, "layers": export.layers, "count": export.count}
        return answer, {"weights:" + name: array for name, array in export.files.items()}

    def _report_lines(self, frame):
        if self._lines is None:
            raise Unsupported("this worker was not started with a package to watch")
        return {"status": "completed", "lines": self._lines.report()}, {}

    def _failure(self, error):
        node = getattr(self._adapter, "current_node", None)
        starting = self._adapter is None
        kinds = (
            (Unsupported, "unsupported"),
            (MemoryError, "out of memory"),
            (LibraryMissing, "library missing" if starting else "unsupported"),
            (VersionMismatch, "version mismatch" if starting else "unsupported"),
        )
        status = next((name for cls, name in kinds if isinstance(error, cls)), "raised")
        detail = "" if isinstance(error, Unsupported) else traceback.format_exc()
        return {
            "status": status,
            "failure": {
                "type": type(error).__name__,
                "message": _text(error)[:8000],
                "node": node,
                "detail": detail[-16000:],
                "stage": getattr(self._adapter, "current_stage", ""),
            },
        }


def _text(error):
    """Return the exception's message; there are exceptions that cannot even say what they are."""
    try:
        return str(error)
    except Exception as broken:
        return "(its message raised {})".format(type(broken).__name__)


def load_adapter_module(name):
    """Return one of our adapters by name, or a third party's by path."""
    if name.endswith(".py"):
        spec = importlib.util.spec_from_file_location("tensorparity_worker.adapters.external", name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return importlib.import_module("tensorparity_worker.adapters." + name)


def _set_aside_garbage():
    """Do not look through the library's own objects for garbage, and look less often.

    A library holds a few hundred thousand objects that never go away, and building and tracing a model makes many more:
    the collector took an eighth of the time of every case, on JAX and torch more.
    """
    gc.collect()
    if hasattr(gc, "freeze"):  # Python 3.7
        gc.freeze()
    gc.set_threshold(20000, 20, 20)


def _import_user_modules(paths, names):
    sys.path.extend(paths)
    for name in names:
        importlib.import_module(name)


def _plant_fault(fault, target):
    """Execute the source of a planted fault, now that the library is imported."""
    if fault:
        code = compile(fault["source"], fault["name"], "exec")
        exec(code, {"__name__": "tensorparity_fault", "__file__": fault["name"], "TARGET": target})
