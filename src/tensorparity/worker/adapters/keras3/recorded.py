"""Which public functions a layer calls, with what, and what they gave; and other answers in their place.

While a ``Recorder`` is entered, the public functions of ``keras.ops``, ``keras.activations`` and of the backend's own
library stand behind wrappers, wherever a module of Keras or a layer holds them. Calls are numbered in the order in
which they begin, so that a second run gives the same call the same number.
"""

import importlib
import inspect
import sys
import types

import numpy as np

from ...protocol import Bits

#: Where public functions of Keras are looked for.
_KERAS = ("keras.ops", "keras.ops.image", "keras.ops.linalg", "keras.ops.nn", "keras.ops.numpy", "keras.activations")
#: Where those of the library below are, by backend; Keras' backends reach for them there when they are called.
_LIBRARY = {
    "torch": ("torch.nn.functional", "torch.special", "torch.linalg", "torch.fft", "torch"),
    "jax": ("jax.nn", "jax.numpy", "jax.numpy.linalg", "jax.scipy.special", "jax.image", "jax.lax"),
    "tensorflow": (
        "tensorflow.nn", "tensorflow.math", "tensorflow.linalg", "tensorflow.image", "tensorflow.signal", "tensorflow",
    ),
}  # fmt: skip
#: More is no layer alone any more.
_MOST_CALLS, _MOST_BYTES = 300, 1 << 24


class Unrecordable(Exception):
    """An argument that is neither a number, a word nor an array."""


class Recorder(object):
    """Records what is called while it is entered.

    ``answers`` are arrays by ``number/place``: the leaves that the call of this number gives instead of its own.
    """

    def __init__(self, flavour, layers, to_tensor, to_numpy, answers):
        self._flavour, self._layers = flavour, layers
        self._to_tensor, self._to_numpy = to_tensor, to_numpy
        self._answers = {}
        for name, array in answers.items():
            number, _, place = name.partition("/")
            self._answers.setdefault(int(number), {})[int(place)] = array
        self._undo = []
        self._running = []
        self._bytes = 0
        self._busy = False
        self.calls, self.arrays = [], {}

    def __enter__(self):
        self._signatures = _torch_signatures() if self._flavour == "torch" else {}
        self._wrap_keras()
        self._wrap_library()
        return self

    def __exit__(self, kind, error, trace):
        for owner, name, before in reversed(self._undo):
            _put(owner, name, before)

    def _wrap_keras(self):
        """In all modules of Keras, and in the layers that hold one of them."""
        wrapped = {}
        for space in _KERAS:
            for name, function in _functions(space):
                wrapped.setdefault(id(function), _Wrapped(self, space.partition(".ops.")[0], name, function, "keras"))
        # what a name below keras.ops is called in full: ``keras.ops.image.resize``, but ``keras.ops.relu``
        for space in ("keras.ops.image", "keras.ops.linalg"):
            for name, function in _functions(space):
                if not hasattr(importlib.import_module("keras.ops"), name) and id(function) in wrapped:
                    wrapped[id(function)].api = "{}.{}".format(space, name)
        for module in [m for n, m in list(sys.modules.items()) if n.startswith("keras.") and m is not None]:
            self._replace(module, vars(module), wrapped)
        for layer in self._layers:
            self._replace(layer, vars(layer), wrapped)

    def _replace(self, owner, held, wrapped):
        for name, value in list(held.items()):
            if isinstance(value, types.FunctionType) and id(value) in wrapped:
                self._undo.append((owner, name, value))
                _put(owner, name, wrapped[id(value)])

    def _wrap_library(self):
        for space in _LIBRARY.get(self._flavour, ()):
            module = importlib.import_module(space)
            for name, function in _functions(space):
                self._undo.append((module, name, function))
                setattr(module, name, _Wrapped(self, space, name, function, "library"))

    # A call

    def called(self, wrapped, args, kwargs):
        """Call the function, and note it."""
        inside = bool(self._running) and self._running[-1][1] == "library"
        if self._busy or inside or len(self.calls) >= _MOST_CALLS:
            return wrapped.function(*args, **kwargs)
        number = len(self.calls)
        parent = self._running[-1][0] if self._running else None
        entry = {"api": wrapped.api, "parent": parent, "raised": False, "outputs": 0, "problem": ""}
        self.calls.append(entry)
        if not self._answers:
            self._note(number, entry, wrapped, args, kwargs)
        self._running.append((number, wrapped.kind))
        try:
            value = wrapped.function(*args, **kwargs)
        except Exception:
            entry["raised"] = True
            if number not in self._answers:
                raise
            value = None
        finally:
            self._running.pop()
        return self._answered(number, entry, value)

    def _note(self, number, entry, wrapped, args, kwargs):
        self._busy = True
        try:
            positional, named = _normal(self._signatures.get(id(wrapped.function), wrapped.function), args, kwargs)
            taken = []
            of_keras = wrapped.kind == "keras"
            entry["args"] = [self._plain(value, number, taken, of_keras) for value in positional]
            entry["kwargs"] = {name: self._plain(value, number, taken, of_keras) for name, value in named.items()}
        except Unrecordable as error:
            entry.update(problem=str(error), args=[], kwargs={})
        except Exception as error:  # tensors without numbers, as compilers have them
            entry.update(problem=type(error).__name__, args=[], kwargs={})
        finally:
            self._busy = False

    def _plain(self, value, number, taken, of_keras):
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            return value.item()
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            items = [self._plain(item, number, taken, of_keras) for item in value]
            return {"$tuple": items} if isinstance(value, tuple) else items
        dtype = _dtype_name(value)
        if dtype:  # Keras knows dtypes by their names, and libraries have objects
            return dtype if of_keras else {"$dtype": dtype}
        name = "a{}".format(len(taken))
        self._keep("{}/in/{}".format(number, name), self._array(value))
        taken.append(name)
        return {"$array": name}

    def _array(self, value):
        import keras

        if isinstance(value, keras.Variable):
            value = value.value
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            return np.array(value)
        if isinstance(value, keras.KerasTensor) or not keras.ops.is_tensor(value):
            raise Unrecordable("an argument is a {}".format(type(value).__name__))
        return self._to_numpy(value)

    def _keep(self, name, array):
        self._bytes += array.bits.nbytes if isinstance(array, Bits) else array.nbytes
        if self._bytes > _MOST_BYTES:
            raise Unrecordable("there is too much to record")
        self.arrays[name] = array

    def _answered(self, number, entry, value):
        answers = self._answers.get(number)
        if answers:
            self._busy = True
            try:
                return _exchanged(value, {place: self._to_tensor(array) for place, array in answers.items()})
            finally:
                self._busy = False
        if not self._answers and not entry["problem"]:
            self._note_results(number, entry, value)
        return value

    def _note_results(self, number, entry, value):
        self._busy = True
        try:
            found = [self._array(leaf) for leaf in _leaves(value)]
            for place, array in enumerate(found):
                self._keep("{}/out/{}".format(number, place), array)
            entry["outputs"] = len(found)
        except Exception as error:
            entry["problem"] = str(error) or type(error).__name__
        finally:
            self._busy = False

    def reply(self):
        """Return the calls as JSON, those that take no array left without arguments."""
        return {"calls": self.calls}


class _Wrapped(object):
    """A function that tells the recorder when it is called, and is otherwise what it was."""

    def __init__(self, recorder, space, name, function, kind):
        self.__dict__.update(recorder=recorder, api="{}.{}".format(space, name), function=function, kind=kind)

    def __call__(self, *args, **kwargs):
        return self.recorder.called(self, args, kwargs)

    def __getattr__(self, name):
        return getattr(self.function, name)


def _functions(space):
    """Return (name, function) of the public functions of a module; classes and modules are none."""
    try:
        module = importlib.import_module(space)
    except ImportError:
        return []
    return [
        (name, value)
        for name, value in list(vars(module).items())
        if not name.startswith("_")
        and callable(value)
        and not isinstance(value, (type, types.ModuleType, _Wrapped))
        and name not in _LEFT_OUT
    ]


#: What makes tensors, looks at them or compiles computes nothing.
_LEFT_OUT = frozenset(
    ["convert_to_tensor", "convert_to_numpy", "is_tensor", "shape", "as_tensor", "tensor", "asarray", "array", "dtype"]
    + ["function", "custom_gradient", "from_numpy", "is_floating_point", "is_complex", "compile", "result_type", "get"]
    + ["promote_types", "can_cast", "typename", "serialize", "deserialize", "cond", "while_loop", "scan", "vmap"]
    + ["get_default_dtype", "constant", "no_gradient", "py_function", "numpy_function", "stop_gradient", "init_scope"]
)


def _put(owner, name, value):
    """Set an attribute past whatever a layer does when one is set."""
    if isinstance(owner, types.ModuleType):
        setattr(owner, name, value)
    else:
        object.__setattr__(owner, name, value)


def _torch_signatures():
    """Return, by function, one of the same signature: torch's own are compiled and have none."""
    import torch

    return {id(function): shape for function, shape in torch.overrides.get_testing_overrides().items()}


def _normal(function, args, kwargs):
    """Return arguments as they are told: tensors by place, the others by name, without those at their default."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return list(args), dict(kwargs)
    positional, named = [], {}
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.kind is parameter.KEYWORD_ONLY or parameter.default is not parameter.empty:
            if not _same(value, parameter.default):
                named[name] = value
        else:
            positional.append(value)
    return positional, named


def _same(value, default):
    plain = (bool, int, float, str, tuple, list, type(None))
    return isinstance(value, plain) and isinstance(default, plain) and repr(value) == repr(default)


def _dtype_name(value):
    """Return the name of a library's dtype; an empty string for anything else."""
    import keras

    named = (
        isinstance(value, (type, np.dtype))
        or type(value).__name__ in ("dtype", "DType")
        or "DType" in str(type(value).__mro__)
    )
    if not named or hasattr(value, "shape") and not isinstance(value, (type, np.dtype)):
        return ""
    try:
        return keras.backend.standardize_dtype(value)
    except (TypeError, ValueError):
        return ""


def _leaves(value):
    if isinstance(value, dict):
        return [leaf for key in value for leaf in _leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _exchanged(value, answers):
    """Return the same structure with other leaves, by their places; the one leaf, where a function gave nothing."""
    places = iter(range(len(_leaves(value))))

    def again(item):
        if isinstance(item, dict):
            return {key: again(item[key]) for key in item}
        if type(item) in (list, tuple):
            return type(item)(again(part) for part in item)
        place = next(places)
        return answers.get(place, item)

    return again(value)
