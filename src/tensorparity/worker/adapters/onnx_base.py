"""What the runtimes that take ONNX share: the host hands over a model as bytes, they run it forward."""

import numpy as np

from ..contract import Adapter, Result, Unsupported
from ..protocol import Bits


class OnnxAdapter(Adapter):
    """A runtime for ONNX models; subclasses open one and run it.

    The subject names the tensors: ``inputs`` pairs the model's inputs with the job's arrays, ``outputs``
    says for each of the model's outputs whether it is an output or a node's, and under which name.

    With ``instances`` in the subject the model runs once per ``rows`` instances. An input's ``cut`` says how
    an array becomes the tensor of one run: ``rows`` of it, one of its ``items`` without the first axis, or
    the ``whole``. An output's ``join`` is the way back.
    """

    ABILITIES = frozenset(["forward", "replay", "trace", "call", "layer-graph", "model-file", "api-call"])
    #: What the runtime says of operators, types and versions that it does not have.
    LACKING = ()

    def __init__(self, flavour, options):
        Adapter.__init__(self, flavour, options)
        self._opened = (None, None)

    def open_model(self, model):
        """Return the runtime's own object for a serialized model."""
        raise NotImplementedError(type(self).__name__ + ".open_model")

    def run_model(self, opened, feeds, wanted):
        """Return the values of the ``wanted`` outputs, as a list of NumPy arrays."""
        raise NotImplementedError(type(self).__name__ + ".run_model")

    def run(self, job):
        name = type(self).__name__
        if job.subject["kind"] != "onnx":
            raise Unsupported("{} runs ONNX models, not {}".format(name, job.subject["kind"]))
        if job.goal not in ("forward", "replay", "call"):
            raise Unsupported("an ONNX runtime computes no {}".format(job.goal))
        self.current_node = None
        outputs = job.subject["outputs"]
        wanted = [item["tensor"] for item in outputs]
        try:
            opened = self._open(self._model(job))
            if job.option("rows") is not None:
                return self._run_rows(opened, job, outputs, wanted)
            runs = [self.run_model(opened, feeds, wanted) for feeds in _feeds(job)]
        except Unsupported:
            raise
        except Exception as error:
            if self.lacks(error):
                raise Unsupported(str(error))
            self.current_node = self._failing_node(error, outputs)
            raise
        result = Result()
        for position, item in enumerate(outputs):
            value = _joined(item, [values[position] for values in runs], job.subject.get("instances"))
            if value is not None:
                getattr(result, item["group"])[item["name"]] = value
        return result

    def _run_rows(self, opened, job, outputs, wanted):
        """Return what each of the stacked inputs gives; of those that are refused, the reply says why."""
        result, failures, first = Result(), {}, None
        for row in range(int(job.option("rows"))):
            feeds = {
                item["tensor"]: np.asarray(_dense(job.inputs[item["input"]])[row]) for item in job.subject["inputs"]
            }
            try:
                values = self.run_model(opened, feeds, wanted)
            except Exception as error:
                first = first or error
                failures[str(row)] = {"type": type(error).__name__, "message": str(error)[:2000]}
                continue
            for item, value in zip(outputs, values):
                result.outputs["{}/{}".format(row, item["name"])] = _joined(item, [value], None)
        if first is not None and len(failures) == int(job.option("rows")):
            raise first
        result.reply = {"rows": failures}
        return result

    def _model(self, job):
        model = job.weights["model"].tobytes()
        if job.option("variant"):
            from . import onnx_bodies

            ways = {"body": onnx_bodies.with_body, "converted": onnx_bodies.converted}
            if job.option("variant") not in ways:
                raise Unsupported("an ONNX runtime has no way {!r}".format(job.option("variant")))
            return ways[job.option("variant")](model)
        return model

    def list_apis(self):
        """The operators are the onnx package's to list, whoever runs them."""
        self._need_onnx()
        from ..apis.onnx_apis import list_apis

        return list_apis()

    def list_samples(self, options):
        self._need_onnx()
        from ..apis.onnx_samples import list_samples

        return list_samples(options)

    def _need_onnx(self):
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            raise Unsupported("what ONNX offers is listed by its package: {}".format(error))

    def failing_tensors(self, error):
        """Return the outputs of the node that was running, where the runtime can be asked."""
        return ()

    def _failing_node(self, error, outputs):
        """Return the node by the name that the host has for it, if that is among the outputs."""
        tensors = self.failing_tensors(error)
        names = [item["name"] for item in outputs if item["group"] == "nodes" and item["tensor"] in tensors]
        return names[0] if names else None

    def lacks(self, error):
        """Return whether an exception says that the runtime has no such operator, or none for such a type."""
        return any(words in str(error) for words in self.LACKING)

    def _open(self, model):
        """Keep the last model: the slices of a data set come one after another."""
        known, opened = self._opened
        if known != model:
            opened = self.open_model(model)
            self._opened = (model, opened)
        return opened


def _feeds(job):
    """Yield what goes into each run, by tensor."""
    subject = job.subject
    arrays = [(item, _dense(job.inputs[item["input"]])) for item in subject["inputs"]]
    rows = subject.get("rows", 1)
    for start in range(0, subject.get("instances", 1), rows):
        yield {item["tensor"]: _cut(array, item.get("cut", "whole"), start, rows) for item, array in arrays}


def _cut(array, cut, start, rows):
    if cut == "rows":
        return array[start : start + rows]
    return np.asarray(array[start]) if cut == "items" else array


def _joined(item, values, instances):
    """Return the values of all runs as one array; None for a node's that is no array of numbers."""
    ways = {"whole": _last, "rows": _one_after_another, "items": _one_upon_another}
    try:
        array = ways[item.get("join", "whole")](values, instances)
    except ValueError as error:
        if item["group"] == "nodes":
            return None
        raise Unsupported("output {!r}: {}".format(item["name"], error))
    return None if item["group"] == "nodes" and array.dtype.kind in "OUS" else array


def _plain(value):
    if value is None or isinstance(value, (list, tuple, dict)):
        raise ValueError("a {} is not compared, only tensors".format(type(value).__name__))
    return np.array(value)


def _last(values, instances):
    return _plain(values[-1])


def _one_after_another(values, instances):
    arrays = [_plain(value) for value in values]
    if not all(array.ndim for array in arrays) or sum(len(array) for array in arrays) != instances:
        if len(arrays) == instances:  # a run per instance: files declare batch axes that are none
            return _one_upon_another(values, instances)
        shapes = ", ".join(sorted({str(array.shape) for array in arrays}))
        raise ValueError("shape {} has no axis of the {} instances".format(shapes, instances))
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]


def _one_upon_another(values, instances):
    arrays = [_plain(value) for value in values]
    if len({array.shape for array in arrays}) > 1:
        raise ValueError("its shape is another from instance to instance")
    return np.stack(arrays)


def _dense(array):
    if isinstance(array, Bits):
        raise Unsupported("ONNX runtimes take no {} through NumPy".format(array.dtype))
    return np.asarray(array, order="C")
