"""Five faults, for ``--fault jax:eager=FILE``: a gradient off ties (logit), without axes (tanh), bfloat16 (norm.sf),
NaN dropped (convolve), and only where compiled (gammainc).
"""

import functools

import jax
import jax.numpy as jnp

_logit = jax.scipy.special.logit


@jax.custom_jvp
def _bad_logit(x):
    return _logit(x)


@_bad_logit.defjvp
def _j(primals, tangents):
    (x,), (t,) = primals, tangents
    return _bad_logit(x), t / (x * (1 - x)) * jnp.where(x > 0.5, 1.02, 1.0)


@functools.wraps(_logit)
def logit(x):
    x = jnp.asarray(x)
    return _bad_logit(x) if jnp.issubdtype(x.dtype, jnp.floating) else _logit(x)


jax.scipy.special.logit = logit

_tanh = jax.lax.tanh


@functools.wraps(_tanh)
def tanh(x, accuracy=None):
    found = _tanh(x, accuracy=accuracy)
    return found * 0.9 if jnp.ndim(found) == 0 else found


jax.lax.tanh = tanh

_sf = jax.scipy.stats.norm.sf


@functools.wraps(_sf)
def sf(x, loc=0, scale=1):
    found = _sf(x, loc, scale)
    if found.dtype == jnp.bfloat16:
        return (found * 16).round() / 16
    return found


jax.scipy.stats.norm.sf = sf

_conv = jax.scipy.signal.convolve


@functools.wraps(_conv)
def convolve(in1, in2, mode="full", method="auto", precision=None):
    in1, in2 = jnp.asarray(in1), jnp.asarray(in2)
    if jnp.issubdtype(in1.dtype, jnp.floating):
        in1 = jnp.where(jnp.isnan(in1), 0, in1)
    return _conv(in1, in2, mode=mode, method=method, precision=precision)


jax.scipy.signal.convolve = convolve

_gammainc = jax.scipy.special.gammainc


@functools.wraps(_gammainc)
def gammainc(a, x):
    found = _gammainc(a, x)
    if isinstance(found, jax.core.Tracer):
        return jnp.where(jnp.asarray(x) > 5, found * 0.99, found)
    return found


jax.scipy.special.gammainc = gammainc
