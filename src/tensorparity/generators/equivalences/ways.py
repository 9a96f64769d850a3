"""Beyond the paper: the same call mapped, exported, written into given memory, or announced and not computed."""

from __future__ import annotations

from ...core.rule import Agreement, Demands
from .base import LIBRARIES, Category, Variant

_FORM = Demands(agreement=Agreement.FORM)
_OPTIONAL = Demands(optional=True)


def _rule(name: str, variant: str, statement: str, where: tuple[str, ...], why: str, **more: object) -> Variant:
    absent = {library: why for library in LIBRARIES if library not in where}
    return Variant(name, 0, Category.BEYOND, statement, absent, variant=variant, **more)  # type: ignore[arg-type]


VMAP = _rule(
    "vmap",
    "vmap",
    "loop(F)(I) = vmap(F)(I)",
    ("torch", "jax", "tensorflow"),
    "its backends map",
    cost=1,
    demands=_OPTIONAL,
)
LAX_MAP = _rule("lax-map", "lax.map", "loop(F)(I) = lax.map(F)(I)", ("jax",), "JAX's", cost=2, demands=_OPTIONAL)
CHECKPOINT = _rule("checkpoint", "checkpoint", "F(I) = checkpoint(F)(I)", ("jax",), "JAX's", cost=1, derivative=1)
OUT = _rule("out", "out", "F(I) = F(I, out=O)", ("torch",), "only torch writes into given memory", demands=_OPTIONAL)
_ONLY_TORCH = "only torch writes into given memory"
OUT_WITH_GAPS = _rule(
    "out-with-gaps", "out with gaps", "F(I) = F(I, out=O[..., ::2])", ("torch",), _ONLY_TORCH, demands=_OPTIONAL
)
OUT_RESIZED = _rule(
    "out-resized", "out resized", "F(I) = F(I, out=empty(0))", ("torch",), _ONLY_TORCH, demands=_OPTIONAL
)
OUT_WIDER = _rule(
    "out-wider", "out wider", "F(I) = narrow(F(I, out=wide(O)))", ("torch",), _ONLY_TORCH, demands=_OPTIONAL
)
META = _rule("meta", "meta", "form(F(I)) = F(meta(I))", ("torch",), "torch's device without memory", demands=_FORM)
FAKE = _rule("fake", "fake", "form(F(I)) = F(fake(I))", ("torch",), "torch's tensors without memory", demands=_FORM)
SYMBOLIC = _rule(
    "symbolic",
    "symbolic",
    "form(F(I)) = symbolic(F)(I)",
    ("tensorflow", "jax", "keras"),
    "torch's are meta and fake",
    cost=1,
    demands=_FORM,
)
_OPEN = Demands(agreement=Agreement.FORM, optional=True)
_ALL_KNOWN = "see any-size and dynamic"
SYMBOLIC_BATCH = _rule(
    "symbolic-batch",
    "symbolic batch",
    "known(symbolic, batch open)(F)(I) = form(F(I))",
    ("keras",),
    _ALL_KNOWN,
    cost=1,
    demands=_OPEN,
)
SYMBOLIC_OPEN = _rule(
    "symbolic-open",
    "symbolic open",
    "known(symbolic, all sizes open)(F)(I) = form(F(I))",
    ("keras",),
    _ALL_KNOWN,
    cost=1,
    demands=_OPEN,
)
DYNAMIC = _rule(
    "dynamic",
    "dynamic",
    "F(I) = F compiled or exported for any size(I)",
    ("torch", "jax"),
    "see any-size and symbolic-open",
    cost=2,
    demands=_OPTIONAL,
)
ANY_SIZE = _rule("any-size", "any size", "F(I) = F traced for any size(I)", ("tensorflow",), "TensorFlow's", cost=1)
FUNCTIONAL = _rule("functional", "functional", "F(I) = Function(symbols, F)(I)", ("keras",), "Keras'", cost=1)
EXPORT = _rule("export", "export", "F(I) = export(F)(I)", ("torch", "jax"), "see saved-function", cost=2)
SAVED = _rule("saved-function", "saved", "F(I) = load(save(F))(I)", ("tensorflow",), "see export", cost=2)
