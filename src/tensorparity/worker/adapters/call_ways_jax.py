"""The ways in which JAX runs a call: jitted, mapped, exported, rematerialised, evaluated for its shapes alone."""

import numpy as np

from ..contract import Unsupported
from .call_runs import Ways, basis, cotangent


def _jitted(function, tensors, kept):
    import jax

    if "jitted" not in kept:
        kept["jitted"] = jax.jit(lambda given: _plain(function(given)))
    return kept["jitted"](tensors)


def _captured(function, rows, kept):
    """Run with all inputs as constants of one compiled function."""
    import jax

    return jax.jit(lambda: [_plain(function(tensors)) for tensors in rows])()


def _plain(value):
    """Return a result that may leave a compiled function: arrays and numbers only."""
    import jax

    return [leaf for leaf in jax.tree_util.tree_leaves(value) if leaf is not None] if not _pulled(value) else value


def _pulled(value):
    return isinstance(value, dict) and set(value) == {"values", "gradients"}


def _shapes(function, tensors, kept):
    import jax

    found = jax.eval_shape(lambda given: _plain(function(given)), tensors)
    return [np.zeros(leaf.shape, leaf.dtype) for leaf in jax.tree_util.tree_leaves(found)]


def _exported(function, tensors, kept):
    import jax
    from jax import export

    if "exported" not in kept:
        made = export.export(jax.jit(lambda given: _plain(function(given))))(tensors)
        kept["exported"] = export.deserialize(made.serialize())
    return kept["exported"].call(tensors)


def _for_any_size(function, tensors, kept):
    """Export with symbols in place of sizes, one for each first size that there is; what has none is as it is."""
    import jax
    from jax import export

    sizes = sorted({tensor.shape[0] for tensor in tensors.values() if tensor.ndim and tensor.shape[0] > 1})
    if not sizes:
        raise Unsupported("there is no size to leave open")
    if "dynamic" not in kept:
        scope = export.SymbolicScope()
        forms = {
            key: jax.ShapeDtypeStruct(export.symbolic_shape(_symbols(tensor.shape, sizes), scope=scope), tensor.dtype)
            for key, tensor in tensors.items()
        }
        kept["dynamic"] = export.export(jax.jit(lambda given: _plain(function(given))))(forms)
    return kept["dynamic"].call(tensors)


def _symbols(shape, sizes):
    first = ["s{}".format(sizes.index(size)) if size in sizes else str(size) for size in shape[:1]]
    return ",".join(first + [str(size) for size in shape[1:]])


def _checkpointed(function, tensors, kept):
    import jax

    return jax.checkpoint(lambda given: function(given))(tensors)


def _vmap(function, rows, kept):
    import jax
    import jax.numpy as jnp

    stacked = {key: jnp.stack([tensors[key] for tensors in rows]) for key in rows[0]}
    if not stacked:
        raise Unsupported("the call takes no arrays")
    found = jax.vmap(lambda given: _plain(function(given)))(stacked)
    return [[leaf[place] for leaf in found] for place in range(len(rows))]


def _mapped(function, rows, kept):
    import jax
    import jax.numpy as jnp

    stacked = {key: jnp.stack([tensors[key] for tensors in rows]) for key in rows[0]}
    if not stacked:
        raise Unsupported("the call takes no arrays")
    found = jax.lax.map(lambda given: _plain(function(given)), stacked)
    return [[leaf[place] for leaf in found] for place in range(len(rows))]


class JaxWays(Ways):
    PREFIXES = ("jax.",)
    VARIANTS = {
        "jax.jit": _jitted,
        "symbolic": _shapes,
        "export": _exported,
        "dynamic": _for_any_size,
        "checkpoint": _checkpointed,
    }
    MAPPED = {"vmap": _vmap, "lax.map": _mapped, "jax.jit captured": _captured}

    def __init__(self, adapter):
        self._adapter = adapter

    def resolve(self, name):
        from .native import resolve

        return resolve(name)

    def context(self, job):
        return self._adapter.context(job)

    def to_tensor(self, array, perm=None):
        return self._adapter.to_tensor(array, perm)

    def cast(self, tensor, dtype):
        import jax.numpy as jnp

        if jnp.issubdtype(tensor.dtype, jnp.complexfloating):
            return tensor.astype("complex128") if dtype == "float64" else tensor
        return self._adapter.cast(tensor, dtype)

    def dtype(self, name):
        import jax.numpy as jnp

        return jnp.dtype(name)

    def leaves(self, value):
        import jax

        return jax.tree_util.tree_leaves(value)

    def to_numpy(self, value):
        if isinstance(value, np.dtype):
            value = str(value)
        if not isinstance(value, (bool, int, float, complex, str)) and not hasattr(value, "__array__"):
            raise Unsupported("the call gives a {}, no array".format(type(value).__name__))
        return np.array(value)

    def pushed_forward(self, function, tensors):
        import jax
        import jax.numpy as jnp

        if any(jnp.issubdtype(tensor.dtype, jnp.complexfloating) for tensor in tensors.values()):
            raise Unsupported("complex numbers are pulled back only")
        found, values = {}, _plain(function(tensors))
        if any(jnp.issubdtype(jnp.result_type(value), jnp.complexfloating) for value in values):
            raise Unsupported("complex numbers are pulled back only")
        for key, tensor in tensors.items():
            if not jnp.issubdtype(tensor.dtype, jnp.floating):
                continue
            values, push = jax.linearize(lambda own, key=key: _plain(function(dict(tensors, **{key: own}))), tensor)
            slopes = [_slope(values, push(jnp.asarray(d).astype(tensor.dtype))) for d in basis(tensor.shape)]
            found[key] = jnp.stack(slopes).reshape(tensor.shape) if slopes else jnp.zeros_like(tensor)
        return values, found

    def pulled_back(self, run, function, tensors, order):
        import jax
        import jax.numpy as jnp

        keys = [key for key, tensor in tensors.items() if jnp.issubdtype(tensor.dtype, jnp.inexact)]
        if not keys:
            raise Unsupported("none of its arguments is differentiable")

        def first(given, fixed):
            values, pull = jax.vjp(lambda own: _plain(function(dict(fixed, **own))), given)
            (found,) = pull([_weight(value) for value in values])
            return found, values

        def differentiated(all_given):
            given = {key: all_given[key] for key in keys}
            fixed = {key: value for key, value in all_given.items() if key not in given}
            found, values = first(given, fixed)
            gradients = dict(found)
            if order > 1:
                again, pull = jax.vjp(lambda own: first(own, fixed)[0], given)
                (second,) = pull({key: _weight(value) for key, value in again.items()})
                gradients.update({"second " + key: value for key, value in second.items()})
            return {"values": values, "gradients": gradients}

        found = run(differentiated, tensors)
        if not _pulled(found):
            raise Unsupported("this way gives no gradients")
        return found["values"], found["gradients"]


def _slope(values, tangents):
    import jax.numpy as jnp

    parts = [
        (tangent * jnp.asarray(cotangent(value.shape)).astype(value.dtype)).sum()
        for value, tangent in zip(values, tangents)
        if jnp.issubdtype(value.dtype, jnp.floating)
    ]
    return sum(parts[1:], parts[0]) if parts else jnp.zeros(())


def _weight(value):
    import jax
    import jax.numpy as jnp

    if not jnp.issubdtype(value.dtype, jnp.inexact):
        return np.zeros(value.shape, jax.dtypes.float0)
    return jnp.asarray(cotangent(value.shape)).astype(value.dtype)
