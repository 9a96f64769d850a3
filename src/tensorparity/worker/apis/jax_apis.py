"""JAX's public functions: NumPy's and SciPy's names, the operations of lax, and what networks are made of."""

import importlib
import inspect

from .listing import Listing, functions_of, public_names

MODULES = (
    "jax.numpy",
    "jax.numpy.linalg",
    "jax.numpy.fft",
    "jax.lax",
    "jax.lax.linalg",
    "jax.nn",
    "jax.scipy.special",
    "jax.scipy.linalg",
    "jax.scipy.signal",
    "jax.scipy.ndimage",
    "jax.scipy.fft",
    "jax.scipy.integrate",
    "jax.scipy.cluster.vq",
    "jax.scipy.stats",
    "jax.ops",
    "jax.image",
)
_RANDOM = ("jax.random", "jax.nn.initializers")


def list_apis():
    """Return the listing of the installed JAX."""
    listing = Listing()
    for path in _modules():
        module = importlib.import_module(path)
        for name, function in functions_of(module):
            if name.endswith("_p") or name[0].isupper():
                listing.exclude(path + "." + name, "a primitive or a description, not a function")
            elif not hasattr(function, "dtype"):
                listing.add(path + "." + name, "function", function, _operands(function), key=_underlying(function))
    for path in _RANDOM:
        for name, _ in functions_of(importlib.import_module(path)):
            listing.exclude(path + "." + name, "random")
    return listing.reply("jax")


def _modules():
    """Return the modules, and those of the distributions below ``jax.scipy.stats``."""
    found = []
    for path in MODULES:
        try:
            module = importlib.import_module(path)
        except ImportError:
            continue
        found.append(path)
        if path == "jax.scipy.stats":
            inner = [name for name in public_names(module) if inspect.ismodule(getattr(module, name))]
            found += [path + "." + name for name in inner]
    return found


def _operands(function):
    """Return the parameters of a universal function, which its signature hides; None of any other."""
    count = getattr(function, "nin", None)
    if not isinstance(count, int):
        return None
    names = ["x"] if count == 1 else ["x{}".format(place) for place in range(1, count + 1)]
    return [{"name": name, "type": "ArrayLike"} for name in names]


def _underlying(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return id(function)
