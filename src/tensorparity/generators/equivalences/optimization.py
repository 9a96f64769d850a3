"""Rule 1, optimization: a function, and the same function as a compiler of its library runs it.

Inputs come as arguments, and as constants that the compiler sees and may fold.
"""

from __future__ import annotations

from ...core.rule import Demands
from .base import Category, Variant

_STATEMENT = "F(I) = optimized(F(I))"


def _rule(name: str, variant: str, library: str, cost: int, *others: str) -> Variant:
    absent = {
        other: f"{variant.split()[0]} is {library}'s"
        for other in ("tensorflow", "torch", "jax", "keras")
        if other not in (library, *others)
    }
    return Variant(
        name,
        1,
        Category.OPTIMIZATION,
        _STATEMENT,
        absent,
        Demands(),
        cost=cost,
        derivative=0 if "captured" in variant else 2,
        variant=variant,
    )


TF_FUNCTION = _rule("tf.function", "tf.function", "tensorflow", 1)
TF_FUNCTION_CAPTURED = _rule("tf.function-captured", "tf.function captured", "tensorflow", 1)
XLA = _rule("xla", "xla", "tensorflow", 2)
XLA_CAPTURED = _rule("xla-captured", "xla captured", "tensorflow", 2)
INDUCTOR = _rule("inductor", "inductor", "torch", 3)
INDUCTOR_CAPTURED = _rule("inductor-captured", "inductor captured", "torch", 3)
AOT_EAGER = _rule("aot-eager", "aot_eager", "torch", 2)
AOT_EAGER_CAPTURED = _rule("aot-eager-captured", "aot_eager captured", "torch", 2)
JIT_TRACE = _rule("jit-trace", "jit.trace", "torch", 1)
JIT_TRACE_CAPTURED = _rule("jit-trace-captured", "jit.trace captured", "torch", 1)
JAX_JIT = _rule("jax-jit", "jax.jit", "jax", 2)
JAX_JIT_CAPTURED = _rule("jax-jit-captured", "jax.jit captured", "jax", 2)
KERAS_JIT = _rule("keras-jit-compile", "jit_compile", "keras", 2)
KERAS_JIT_CAPTURED = _rule("keras-jit-compile-captured", "jit_compile captured", "keras", 2)
