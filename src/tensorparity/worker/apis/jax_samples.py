"""The inputs that JAX's own tests are made of: harnesses of primitives, and the records of lax operations.

A harness is a function of our own arguments around a public one: it is run with the public functions replaced by
recorders, and what the first of them was given is the call.
"""

import numpy as np

from .forms import FormError
from .samples import Samples

_PER_GROUP = 60
#: What the harnesses called, once they were run: (function, arguments, arguments by name, source), or None.
_FOUND = []


def list_samples(options):
    """Return the calls and their arrays."""
    samples = Samples(_convert, options.get("of", ()))
    for source, collect in (("harnesses", _harnesses), ("lax_ops", _records)):
        try:
            collect(samples)
        except (ImportError, AttributeError) as error:
            samples.missing.append("{}: {}".format(source, error))
    return samples.reply()


def _convert(value, arrays):
    import jax

    plain = isinstance(value, jax.Array) and not jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
    if plain and arrays is not None:
        return arrays.name(np.array(value))
    raise FormError("{} has no form".format(type(value).__name__))


class _Recorded(Exception):
    """The first public function was reached: it and its arguments."""


class _Recorder(object):
    """Replaces the public functions of modules for the time of one call."""

    def __init__(self, modules):
        self._modules = modules
        self._kept = []

    def __enter__(self):
        from jax._src import core

        self._kept.append((core.Primitive, "bind", core.Primitive.bind))
        core.Primitive.bind = _bound  # nothing is computed while we listen
        for module in self._modules:
            for name in dir(module):
                found = getattr(module, name)
                if not name.startswith("_") and callable(found) and not isinstance(found, type):
                    self._kept.append((module, name, found))
                    setattr(module, name, _recording(module.__name__ + "." + name))
        return self

    def __exit__(self, *problem):
        for module, name, found in self._kept:
            setattr(module, name, found)


def _bound(primitive, *args, **params):
    raise _Recorded("jax.lax." + str(primitive), args, params)


def _recording(api):
    def record(*args, **kwargs):
        raise _Recorded(api, args, kwargs)

    return record


def _harnesses(samples):
    if not _FOUND:
        _run_harnesses()
    for call in _FOUND:
        if call is None:
            samples.unwritten += 1
        else:
            samples.add(*call)


def _run_harnesses():
    import jax
    from jax._src.internal_test_util import test_harnesses

    groups = {}
    for harness in test_harnesses.all_harnesses:
        groups.setdefault(harness.group_name, []).append(harness)
    for name in sorted(groups):
        members = groups[name]
        step = max(1, len(members) // _PER_GROUP)
        for harness in members[::step]:
            rng = np.random.RandomState(0)
            try:
                args = harness.dyn_args_maker(rng)
            except Exception:  # not on this machine
                continue
            _FOUND.append(_recorded(harness, args, [jax.lax, jax.lax.linalg, jax.numpy]))


def _recorded(harness, args, modules):
    primitive = harness.params.get("prim")
    if primitive is not None and harness.fun.__name__ == "<lambda>" and len(args) <= 2:
        return "jax.lax." + str(primitive), args, {}, "harnesses"
    try:
        with _Recorder(modules):
            harness.dyn_fun(*args)
    except _Recorded as found:
        return found.args + ("harnesses",)
    except Exception:  # it called something that is no public function
        pass
    return None


def _records(samples):
    import jax
    from jax._src.internal_test_util import lax_test_util

    for record in lax_test_util.lax_ops():
        api = "jax.lax." + str(record.op)
        if not callable(getattr(jax.lax, str(record.op), None)):
            continue
        for dtype in record.dtypes:
            for shape in ((), (3,), (2, 3), (4, 1, 5)):
                rng = record.rng_factory(np.random.RandomState(0))
                samples.add(api, [np.asarray(rng(shape, dtype)) for _ in range(record.nargs)], {}, "lax_ops")
