"""What an adapter promises, and the plain objects it works with.

An adapter knows one library. It is created in a fresh process, ``start`` imports the library and
pins its thread pools, and then ``run`` is called for one job after another. Rules:

* arrays of a job are never modified; arrays of a result are fresh NumPy arrays (or ``protocol.Bits``);
* weights are always set from the job, never drawn by the library;
* an unconnected gradient is absent, never zero;
* what the library raises passes through untouched, with ``current_node`` naming the node that ran;
* what cannot be asked of this library raises ``Unsupported`` with a reason, before anything is run.
"""

import hashlib
import os
import platform


class Unsupported(Exception):
    """The library, or the adapter, cannot be asked that; the message says what and why."""


class LibraryMissing(Exception):
    """The library under test is not installed in this environment."""


class VersionMismatch(Exception):
    """The library is installed, but not in a version this adapter knows."""


def inspected_path(file):
    """Return the path of a model file, which must still be the one that the host has inspected."""
    state = hashlib.sha256()
    with open(file["path"], "rb") as stream:
        for chunk in iter(lambda: stream.read(1 << 20), b""):
            state.update(chunk)
    if file.get("sha256") and state.hexdigest() != file["sha256"]:
        raise Unsupported("the file has changed since it was inspected: {}".format(file["path"]))
    return file["path"]


class Job(object):
    """A case as it arrives: JSON for subject and procedure, arrays by group."""

    def __init__(self, case, arrays):
        self.subject = case["subject"]
        self.procedure = case["procedure"]
        self.seed = case.get("seed", 0)
        self.trust = case.get("trust", False)
        self.inputs, self.labels, self.weights, self.cotangents, self.parents = {}, {}, {}, {}, {}
        self.answers = {}
        for name, array in arrays.items():
            group, _, key = name.partition(":")
            getattr(self, group)[key] = array

    @property
    def goal(self):
        return self.procedure["goal"]

    def option(self, name, default=None):
        return self.procedure.get(name, default)


class Result(object):
    """What came of a job; see the host's Outcome and Trace for the meaning of each part."""

    def __init__(self):
        self.outputs = {}
        self.nodes = {}
        self.gradients = {}
        self.weights = {}
        self.loss = None
        self.losses = []
        #: By node key: what the library said the output would be, as (shape with None for what is open, dtype).
        self.symbolic = {}
        #: What is said besides, as JSON.
        self.reply = None

    def arrays(self):
        found = {}
        for group in ("outputs", "nodes", "gradients", "weights"):
            for name, array in getattr(self, group).items():
                found[group + ":" + name] = array
        return found


class Export(object):
    """A model file in another form.

    ``files`` are arrays of bytes: ``model`` is what users get, ``steps`` the file to trace and replay, where
    that is another. ``layers`` is the map of those that can be found in it, out of ``count``.
    """

    def __init__(self, exporter, files, layers, count):
        self.exporter = exporter
        self.files = files
        self.layers = layers
        self.count = count


#: Where the host looks for the node that is running, and how long its name may be.
PLACE_VARIABLE, PLACE_BYTES = "TENSORPARITY_PLACE", 256


def _open_place():
    """Open the file in which the host finds the running node; None where nobody looks."""
    path = os.environ.get(PLACE_VARIABLE)
    return os.open(path, os.O_WRONLY | os.O_CREAT, 0o600) if path else None


class Adapter(object):
    """Base of all adapters. Subclasses fill ``start``, ``run`` and, where the library can, the rest."""

    #: What may be asked of it, as data: goals, subjects and options by name.
    ABILITIES = frozenset()
    #: Distributions whose versions every outcome records.
    LIBRARIES = ()

    def __init__(self, flavour, options):
        self.flavour = flavour
        self.options = options
        self._place = _open_place()
        self.current_node = None
        #: ``build`` while a model is being made; a failure then is one of building.
        self.current_stage = ""
        self.fault = None
        self.mode = ""
        self._versions = None

    @property
    def current_node(self):
        """The node that is running, for whoever asks why it does not come to an end, or how it ended."""
        return self._current_node

    @current_node.setter
    def current_node(self, key):
        self._current_node = key
        if self._place is not None:
            os.pwrite(self._place, (key or "").encode("utf-8")[:PLACE_BYTES].ljust(PLACE_BYTES, b"\0"), 0)

    @property
    def threads(self):
        return int(self.options.get("threads", 1))

    def start(self):
        """Import the library and pin its pools.

        Raises LibraryMissing, VersionMismatch, or whatever a broken import raises.
        """
        raise NotImplementedError(type(self).__name__ + ".start")

    def run(self, job):
        """Run one job and return its Result."""
        raise NotImplementedError(type(self).__name__ + ".run")

    def run_pack(self, jobs):
        """Run several calls compiled as one unit and return their Results; one failure is the failure of all."""
        raise Unsupported("this target packs no calls")

    def import_model(self, path, trust):
        """Read a model file into (graph JSON, weights, notes)."""
        raise Unsupported("this target does not import model files")

    def make_model(self, recipe):
        """Make a model by recipe; return its file's bytes as an array, and notes."""
        raise Unsupported("this target makes no models")

    def export_model(self, path, form, trust):
        """Turn a model file into another form; return an Export."""
        raise Unsupported("this target exports no models")

    def export_case(self, job, form):
        """Turn the job's layers into a file of that form, as users get it; return an Export without layers."""
        raise Unsupported("this target exports no layers")

    def train(self, job, training):
        """Fit the job's graph; return (weights, history)."""
        raise Unsupported("this target does not train")

    def list_apis(self):
        """Return the public functions of the library as JSON; nothing is called."""
        raise Unsupported("this target does not list its functions")

    def list_samples(self, options):
        """Return valid inputs that ship inside the library: (JSON of the calls, their arrays by name)."""
        raise Unsupported("this target brings no inputs along")

    def require(self, ability):
        """Raise Unsupported unless ``ability`` is one of this adapter's."""
        if ability not in self.ABILITIES:
            raise Unsupported("{} is not supported by this target".format(ability))

    def build(self):
        """Details of the library's build that change numbers."""
        return {}

    def record(self):
        """Return the circumstances of every outcome."""
        if self._versions is None:
            self._versions = {name: version_of(name) for name in self.LIBRARIES + ("numpy",)}
        return {
            "python": platform.python_version(),
            "versions": {name: version for name, version in self._versions.items() if version},
            "build": dict(self.build(), mode=self.mode),
            "device": "cpu",
            "dtype_policy": self.dtype_policy(),
            "flags": _flags(self.options),
            "threads": self.threads,
            "fault": self.fault,
        }

    def dtype_policy(self):
        return "float32"


#: Environment variables that change what a library computes or how.
_FLAG_PREFIXES = (
    "TF_",
    "XLA_",
    "JAX_",
    "KERAS_",
    "TORCH_",
    "OMP_",
    "MKL_",
    "ONEDNN_",
    "DNNL_",
    "ORT_",
    "OPENVINO_",
    "ATEN_",
)


def _flags(options):
    flags = {name: value for name, value in os.environ.items() if name.startswith(_FLAG_PREFIXES)}
    flags.update({str(name): str(value) for name, value in options.items() if name != "threads"})
    return {name: value for name, value in flags.items() if not name.endswith(("_DIR", "_HOME"))}


def version_of(distribution):
    """Return the installed version of a distribution, or an empty string; works on Python 3.6."""
    try:
        from importlib import metadata
    except ImportError:
        import pkg_resources

        try:
            return pkg_resources.get_distribution(distribution).version
        except pkg_resources.DistributionNotFound:
            return ""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def import_library(name, distribution=None, least=None):
    """Import a library, telling apart missing, too old and broken."""
    try:
        module = __import__(name)
    except ImportError as error:
        if getattr(error, "name", None) == name:
            raise LibraryMissing("{} is not installed in this environment".format(distribution or name))
        raise
    version = version_of(distribution or name) or getattr(module, "__version__", "0")
    if least and _numbers(version) < least:
        wanted = ".".join(str(part) for part in least)
        raise VersionMismatch(
            "{} {} is installed, this adapter needs {} or newer".format(distribution or name, version, wanted)
        )
    return module


def _numbers(version):
    parts = []
    for part in version.split(".")[:3]:
        digits = ""
        for character in part:
            if not character.isdigit():
                break
            digits += character
        parts.append(int(digits or 0))
    return tuple(parts)
