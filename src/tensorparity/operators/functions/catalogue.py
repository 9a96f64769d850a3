"""The table of operators, by family; a family is imported when one of it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from ...core.errors import UsageError
from ...core.registry import Registry
from .spec import Operator, operator_name

_FAMILIES = {
    "unary": "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square abs sin cos tan asin acos atan sinh "
    "cosh tanh asinh acosh atanh",
    "activations": "relu relu6 leaky_relu prelu sigmoid log_sigmoid softplus softsign elu selu celu gelu gelu_tanh "
    "silu mish hard_sigmoid hard_silu hard_tanh tanh_shrink soft_shrink squareplus softmax log_softmax",
    "special": "erf erfc erfinv lgamma digamma i0 i1 i0e i1e ndtr log_ndtr ndtri entropy expit logit sinc",
    "binary": "divide pow atan2 hypot logaddexp xlogy xlog1py squared_difference",
    "reductions": "sum mean prod max min var std logsumexp l2_norm l1_norm cumsum cumprod cummax logcumsumexp",
    "normalization": "norm layer_norm instance_norm group_norm rms_norm l2_normalize lrn",
    "products": "matmul linear einsum dot outer cosine_similarity cdist attention",
    "convolution": "conv1d conv2d conv3d depthwise_conv2d conv1d_transpose conv2d_transpose conv3d_transpose",
    "pooling": "max_pool1d pooling max_pool3d avg_pool1d avg_pool2d avg_pool3d lp_pool2d global_avg_pool2d "
    "resize_bilinear resize_nearest",
    "losses": "bce_with_logits cross_entropy_with_logits huber smooth_l1 kl_div poisson_nll mse soft_margin bce",
}

#: The paper's seven, in the order of its tables.
SEVEN = ("conv2d", "norm", "pooling", "relu", "sigmoid", "softmax", "tanh")

OPERATORS: Registry[Operator] = Registry(
    "operator",
    {name: f"{__package__}.{family}:OPERATORS.{name}" for family, names in _FAMILIES.items() for name in names.split()},
)


def find_operators(patterns: tuple[str, ...]) -> list[Operator]:
    """Operators whose name matches one of the globs; the paper's seven first, then by name.

    Raises:
        UsageError: if a pattern matches none.
    """
    names = OPERATORS.names()
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"no operator is called {pattern!r}; {_instead(pattern, names)}")
    chosen = [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns or ("*",))]
    chosen.sort(key=lambda name: (SEVEN.index(name) if name in SEVEN else len(SEVEN), name))
    return [OPERATORS.get(name) for name in chosen]


def _instead(pattern: str, names: Sequence[str]) -> str:
    near = get_close_matches(pattern, names, n=4, cutoff=0.7)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names)}"


def operator_of(api: str) -> Operator | None:
    """The operator a case's API name means; None where it is a library's own function."""
    name = operator_name(api)
    return OPERATORS.get(name) if name is not None and name in OPERATORS else None
