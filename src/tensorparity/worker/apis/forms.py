"""Arguments as JSON: arrays by name, and the values that JSON lacks."""

import numpy as np


class FormError(ValueError):
    """A value that cannot be written down as an argument."""


class Arrays(object):
    """Arrays found among arguments, named in order."""

    def __init__(self, largest=1 << 16):
        self.found = {}
        self._largest = largest

    def name(self, array, hint="x"):
        if getattr(array, "size", 0) > self._largest:
            raise FormError("an array of {} numbers is larger than an example should be".format(array.size))
        name = "{}{}".format(hint, len(self.found))
        self.found[name] = array
        return {"$array": name}


def to_form(value, arrays, convert=None):
    """Return a value as JSON; ``convert`` makes arrays (or further forms) of the library's own objects.

    Raises FormError for what has no form.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value) if type(value) is not int else _whole(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, (complex, np.complexfloating)):
        return {"$complex": [float(value.real), float(value.imag)]}
    if isinstance(value, np.bool_):
        return bool(value)
    return _compound(value, arrays, convert)


def _compound(value, arrays, convert):
    if isinstance(value, slice):
        return {"$slice": [to_form(item, arrays, convert) for item in (value.start, value.stop, value.step)]}
    if isinstance(value, (list, tuple)) and type(value).__name__ in ("list", "tuple", "Size", "TensorShape"):
        items = [to_form(item, arrays, convert) for item in value]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, np.ndarray) and arrays is not None:
        return arrays.name(value)
    dtype = _dtype_name(value)
    if dtype:
        return {"$dtype": dtype}
    if convert is not None:
        return convert(value, arrays)
    raise FormError("{} has no form".format(type(value).__name__))


def _whole(value):
    if not -(2**63) <= value < 2**64:
        raise FormError("an integer beyond 64 bits has no form")
    return value


_DTYPES = frozenset(
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
)


def _dtype_name(value):
    """Return the name where the value is a dtype of NumPy, torch, TensorFlow or JAX."""
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        name = np.dtype(value).name
    elif type(value).__name__ in ("dtype", "DType"):
        name = str(getattr(value, "name", value)).replace("torch.", "")
    elif type(value).__name__ == "_ScalarMeta":
        name = str(value.dtype)
    else:
        return ""
    return name if name in _DTYPES else ""
