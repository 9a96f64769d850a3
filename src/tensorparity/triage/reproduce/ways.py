"""How the second side of an equivalence is written: a line for each way, and the helpers that it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .literals import Unprintable

#: Between the names of ways that are taken one inside the other.
AND = " + "


@dataclass(frozen=True)
class Way:
    """A way as text: ``{f}`` is the function, ``{given}`` its arguments, ``{forms}`` stands for zeros of their form.

    Args:
        helpers: lines that stand before both sides.
    """

    text: str
    helpers: tuple[str, ...] = ()


def _lines(text: str) -> tuple[str, ...]:
    return (*text.strip("\n").split("\n"), "")


_AROUND = _lines("""
def around(t, turn):  # five numbers before, 37 behind
    tame = 0.15 + 0.7 * ((np.arange(42) * 7 + turn * 3) % 16) / 16
    tame = torch.tensor(tame if t.is_floating_point() else 1 + (np.arange(42) + turn) % 5).to(t.dtype)
    return torch.cat([tame[:5], t.reshape(-1), tame[5:]])
""")
_INTO = _lines("""
def filled(leaf):  # memory that holds other numbers
    return torch.full_like(leaf, 77 if leaf.dtype is not torch.bool else True)

def into(f, written, *given, made=filled):
    results = leaves(f(*given))
    out = [made(leaf) for leaf in results]
    written(*given, out[0] if len(out) == 1 else tuple(out))
    return [one.to(leaf.dtype) for one, leaf in zip(out, results)]
""")
_FAKED = _lines("""
from torch._subclasses.fake_tensor import FakeTensorMode

def announced(f, *given):
    with FakeTensorMode() as mode:
        forms = [(tuple(leaf.shape), leaf.dtype) for leaf in leaves(f(*map(mode.from_tensor, given)))]
    return [torch.zeros(shape, dtype=dtype) for shape, dtype in forms]
""")
_EXPORTED = _lines("""
class Whole(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *given):
        return self.function(*given)
""")
_ANNOUNCED_BY_TF = _lines("""
def announced(f, *given):
    said = tensorflow.function(f).get_concrete_function(*given).structured_outputs
    return [tensorflow.zeros(form.shape, form.dtype) for form in tensorflow.nest.flatten(said)]
""")
_OPEN = _lines("""
def open_sizes(f, *given):
    specs = [tensorflow.TensorSpec([None] * len(t.shape), t.dtype) for t in given]
    return tensorflow.function(f).get_concrete_function(*specs)(*given)
""")
_OF_OPEN_SYMBOLS = _lines("""
def announced_open(run, given, count):  # the first sizes open; what is announced of them is as it comes out
    kinds = [keras.backend.standardize_dtype(t.dtype) for t in given]
    shapes = [[None if k < count else size for k, size in enumerate(t.shape)] for t in given]
    said = leaves(run(*[keras.KerasTensor(*form) for form in zip(shapes, kinds)]))
    sizes = [[r if s is None else s for s, r in zip(a.shape, b.shape)] for a, b in zip(said, leaves(run(*given)))]
    return [keras.ops.zeros(size, a.dtype) for size, a in zip(sizes, said)]
""")

_OF_SYMBOLS = _lines("""
def announced(f, *given):
    symbols = [keras.KerasTensor(t.shape, keras.backend.standardize_dtype(t.dtype)) for t in given]
    return [keras.ops.zeros(leaf.shape, dtype=leaf.dtype) for leaf in leaves(f(*symbols))]
""")
_MODEL = _lines("""
def as_model(f, *given):
    symbols = [keras.KerasTensor(t.shape, keras.backend.standardize_dtype(t.dtype)) for t in given]
    return keras.Function(symbols, f(*symbols))(list(given))
""")
_SLOPES = """
def total(run, given):  # what is pulled back, as one number
    ends = [{array} for t in leaves(run(*given))]
    return sum(float((np.resize(1 + 0.25 * np.arange(5), e.shape) * e).sum()) for e in ends if e.dtype.kind == "f")

def by_slopes(run, given):  # gradients in float64, each kept between the slopes to both sides
    given = [{tensor} for t in given]
    numbers = [{array} for t in given]
    found = [np.array({array}) for t in gradients(run, given) if t is not None]
    for g, k in zip(found, [k for k, x in enumerate(numbers) if x.dtype.kind == "f"]):
        for i in np.ndindex(g.shape):
            sides = []
            for way in (-1, 1):
                x = np.array(numbers[k])
                x[i] += way * 2.0**-26 * max(abs(x[i]), 1e-3)
                moved = [*given[:k], {again}, *given[k + 1 :]]
                sides.append((total(run, moved) - total(run, given)) / (x[i] - numbers[k][i]))
            slack = 1e-4 * max(map(abs, sides)) + 1e-6
            g[i] = np.clip(g[i], min(sides) - slack, max(sides) + slack) if np.isfinite(sides).all() else g[i]
    return found
"""


def _slopes(array: str, tensor: str, again: str) -> tuple[str, ...]:
    text = _SLOPES.replace("{array}", array).replace("{tensor}", tensor).replace("{again}", again)
    return _lines(text)


#: How a direction is pushed forward in each library: ends and what they become, of ``own`` at ``t``.
_FORWARD = """
def forward(run, given):  # pushed forward in every direction; where that is no number, pulled back
    found = []
    for k, t in enumerate(given):
        if {skip}:
            continue
        own = lambda x, k=k: [leaf for leaf in leaves(run(*given[:k], x, *given[k + 1 :])) if {ends}]
        size = int(np.prod(t.shape))
        slopes = []
        for d in np.eye(size).reshape(size, *t.shape):
            pushed = {push}
            slopes.append(sum((np.resize(1 + 0.25 * np.arange(5), p.shape) * p).sum() for p in pushed))
        found.append(np.reshape(slopes, tuple(t.shape)))
    pulled = [{array} for t in gradients(run, given) if t is not None]
    return [np.where(np.isfinite(f), f, g).astype(g.dtype) for f, g in zip(found, pulled)]
"""


def _forward(**parts: str) -> tuple[str, ...]:
    text = _FORWARD
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return _lines(text)


_FORWARD_IN_TF = _lines("""
def pushed_in(own, t, d):
    with tensorflow.autodiff.ForwardAccumulator(t, tensorflow.cast(d, t.dtype)) as pushed:
        ends = own(t)
    return [p.numpy() for p in map(pushed.jvp, ends) if p is not None]
""")

#: By variant, in any library.
_ANYWHERE: Mapping[str, Way] = {
    "": Way("{f}({given})"),
    "inductor": Way("torch.compile({f}, dynamic=False)({given})"),
    "aot_eager": Way('torch.compile({f}, backend="aot_eager", dynamic=False)({given})'),
    "inductor captured": Way("torch.compile(lambda: {f}({given}), dynamic=False)()"),
    "aot_eager captured": Way('torch.compile(lambda: {f}({given}), backend="aot_eager", dynamic=False)()'),
    "jit.trace": Way("torch.jit.trace({f}, ({given},), check_trace=False, strict=False)({given})"),
    "jit.trace captured": Way("torch.jit.trace(lambda: {f}({given}), (), check_trace=False, strict=False)()"),
    "strided": Way("{f}(*[torch.stack([t, t], -1).flatten(-2)[..., ::2] if t.ndim else t for t in ({given},)])"),
    "turned": Way(
        "{f}(*[t.permute(*range(t.ndim)[::-1]).contiguous().permute(*range(t.ndim)[::-1]) for t in ({given},)])"
    ),
    "shifted": Way("{f}(*[torch.cat([t.new_zeros(1), t.reshape(-1)])[1:].view(t.shape) for t in ({given},)])"),
    "expanded": Way("{f}(*[t[:1].expand(t.shape) if t.ndim else t for t in ({given},)])"),
    "channels_last": Way("{f}(*[t.to(memory_format=torch.channels_last) if t.ndim == 4 else t for t in ({given},)])"),
    "tf.function": Way("tensorflow.function({f})({given})"),
    "tf.function captured": Way("tensorflow.function(lambda: {f}({given}))()"),
    "xla": Way("tensorflow.function({f}, jit_compile=True)({given})"),
    "xla captured": Way("tensorflow.function(lambda: {f}({given}), jit_compile=True)()"),
    "jax.jit": Way("jax.jit({f})({given})"),
    "jax.jit captured": Way("jax.jit(lambda: {f}({given}))()"),
    "checkpoint": Way("jax.checkpoint({f})({given})"),
    "meta": Way(
        '[torch.zeros(leaf.shape, dtype=leaf.dtype) for leaf in leaves({f}(*[t.to("meta") for t in ({given},)]))]'
    ),
    "dynamic": Way('torch.compile({f}, backend="aot_eager", dynamic=True)({given})'),
    "fake": Way("announced({f}, {given})", _FAKED),
    "any size": Way("open_sizes({f}, {given})", _OPEN),
    "functional": Way("as_model({f}, {given})", _MODEL),
    "lax.map": Way(
        "[leaf[0] for leaf in leaves(jax.lax.map(lambda given: {f}(*given), [t[None] for t in ({given},)]))]"
    ),
    "out": Way("into({f}, written, {given})", _INTO),
    "out with gaps": Way(
        "into({f}, written, {given}, made=lambda leaf: torch.stack([filled(leaf)] * 2, -1).flatten(-2)[..., ::2])",
        _INTO,
    ),
    "out resized": Way("into({f}, written, {given}, made=lambda leaf: leaf.new_zeros(0))", _INTO),
    "out wider": Way(
        "into({f}, written, {given}, "
        "made=lambda leaf: filled(leaf).to(torch.float64 if leaf.dtype is torch.float32 else torch.float32))",
        _INTO,
    ),
}


def _vmapped(name: str) -> Way:
    return Way(f"[leaf[0] for leaf in leaves({name}({{f}})(*[t[None] for t in ({{given}},)]))]")


def _piecewise(join: str, flat: str, size: str, piece: str, whole: str) -> Way:
    pieces = f"[{{f}}(*[{piece.format(t=flat.format(t='t'))} for t in ({{given}},)]) for i in range({size})]"
    return Way(whole.format(joined=f"{join}({pieces}, 0)"))


_TORCH_SIZE, _JAX_SIZE = "({given},)[0].numel()", "({given},)[0].size"
_TF_SIZE, _WHOLE = "int(tensorflow.size(({given},)[0]))", "{joined}.reshape(({{given}},)[0].shape)"
_TF_WHOLE, _TF_FLAT = "tensorflow.reshape({joined}, ({{given}},)[0].shape)", "tensorflow.reshape({t}, [-1])"
_ROW, _ROWS = "t[i : i + 1] if len(t) == len(({given},)[0]) else t", "len(({given},)[0])"

#: The form that all rows would have, as it is said of none of them.
_NO_ROWS = (
    "[{zeros}((len(({{given}},)[0]) + leaf.shape[0], *leaf.shape[1:]), dtype=leaf.dtype) for leaf in leaves("
    "{{f}}(*[t[:0] if t.ndim and len(t) == len(({{given}},)[0]) else t for t in ({{given}},)]))]"
)


def _of_nothing(zeros: str) -> Way:
    return Way(_NO_ROWS.format(zeros=zeros))


#: Likewise, of one library.
_OF: Mapping[tuple[str, str], Way] = {
    ("torch", "by element"): _piecewise("torch.cat", "{t}.reshape(-1)", _TORCH_SIZE, "{t}[i : i + 1]", _WHOLE),
    ("torch", "without axes"): _piecewise("torch.stack", "{t}.reshape(-1)", _TORCH_SIZE, "{t}[i]", _WHOLE),
    ("torch", "of nothing"): _of_nothing("torch.zeros"),
    ("torch", "row by row"): Way(f"torch.cat([{{f}}(*[{_ROW} for t in ({{given}},)]) for i in range({_ROWS})])"),
    ("torch", "among others"): Way(
        "{f}(*[around(t, k) for k, t in enumerate(({given},))])"
        "[5 : 5 + ({given},)[0].numel()].reshape(({given},)[0].shape)",
        _AROUND,
    ),
    ("torch", "vmap"): _vmapped("torch.vmap"),
    ("torch", "export"): Way("torch.export.export(Whole({f}), ({given},)).module()({given})", _EXPORTED),
    ("torch", "slopes"): Way(
        "by_slopes({f}, [{given}])",
        _slopes("t.detach().numpy()", "t.double() if t.is_floating_point() else t", "torch.tensor(x)"),
    ),
    ("torch", "forward mode"): Way(
        "forward({f}, [{given}])",
        _forward(
            skip="not t.is_floating_point()",
            ends="leaf.is_floating_point()",
            push="[p.detach().numpy() for p in torch.func.jvp(own, (t,), (torch.tensor(d).to(t.dtype),))[1]]",
            array="t.detach().numpy()",
        ),
    ),
    ("jax", "by element"): _piecewise("jax.numpy.concatenate", "{t}.ravel()", _JAX_SIZE, "{t}[i : i + 1]", _WHOLE),
    ("jax", "without axes"): _piecewise("jax.numpy.stack", "{t}.ravel()", _JAX_SIZE, "{t}[i]", _WHOLE),
    ("jax", "of nothing"): _of_nothing("jax.numpy.zeros"),
    ("jax", "row by row"): Way(
        f"jax.numpy.concatenate([{{f}}(*[{_ROW} for t in ({{given}},)]) for i in range({_ROWS})])"
    ),
    ("jax", "vmap"): _vmapped("jax.vmap"),
    ("jax", "symbolic"): Way("[np.zeros(leaf.shape, leaf.dtype) for leaf in leaves(jax.eval_shape({f}, {given}))]"),
    ("jax", "forward mode"): Way(
        "forward({f}, [{given}])",
        _forward(
            skip="t.dtype.kind != 'f'",
            ends="leaf.dtype.kind == 'f'",
            push="[np.array(p) for p in jax.jvp(own, (t,), (d.astype(t.dtype),))[1]]",
            array="np.array(t)",
        ),
    ),
    ("tensorflow", "by element"): _piecewise("tensorflow.concat", _TF_FLAT, _TF_SIZE, "{t}[i : i + 1]", _TF_WHOLE),
    ("tensorflow", "without axes"): _piecewise("tensorflow.stack", _TF_FLAT, _TF_SIZE, "{t}[i]", _TF_WHOLE),
    ("tensorflow", "of nothing"): _of_nothing("tensorflow.zeros"),
    ("tensorflow", "row by row"): Way(
        f"tensorflow.concat([{{f}}(*[{_ROW} for t in ({{given}},)]) for i in range({_ROWS})], 0)"
    ),
    ("tensorflow", "symbolic"): Way("announced({f}, {given})", _ANNOUNCED_BY_TF),
    ("tensorflow", "slopes"): Way(
        "by_slopes({f}, [{given}])",
        _slopes("t.numpy()", "tensorflow.cast(t, 'float64') if t.dtype.is_floating else t", "tensorflow.constant(x)"),
    ),
    ("tensorflow", "forward mode"): Way(
        "forward({f}, [{given}])",
        (
            *_FORWARD_IN_TF,
            *_forward(
                skip="not t.dtype.is_floating",
                ends="leaf.dtype.is_floating",
                push="pushed_in(own, t, d)",
                array="t.numpy()",
            ),
        ),
    ),
    ("keras", "symbolic"): Way("announced({f}, {given})", _OF_SYMBOLS),
    ("keras", "symbolic batch"): Way("announced_open({f}, [{given}], 1)", _OF_OPEN_SYMBOLS),
    ("keras", "symbolic open"): Way("announced_open({f}, [{given}], 9)", _OF_OPEN_SYMBOLS),
    ("keras", "vmap"): _vmapped("keras.ops.vectorized_map"),
}


def is_gradient(variant: str) -> bool:
    """Whether the way gives gradients by itself, and nothing of it is pulled back."""
    return variant in ("slopes", "forward mode")


def way_of(root: str, variant: str) -> Way:
    """The way of a name in a library, or the first with the others inside of it.

    Raises:
        Unprintable: where nobody has written it down.
    """
    first, _, rest = variant.partition(AND)
    outer = _OF.get((root, first)) or _ANYWHERE.get(first)
    if outer is None:
        raise Unprintable(f"the way {first!r} takes more than a line")
    if not rest:
        return outer
    inner = way_of(root, rest)
    names = re.sub(r"\{given\}", "*given", inner.text)  # what the outer way hands in, however many these are
    text = outer.text.replace("{f}", f"(lambda *given: {names})")
    return Way(text, (*outer.helpers, *inner.helpers))
