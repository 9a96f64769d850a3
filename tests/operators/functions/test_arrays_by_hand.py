"""Operators on arrays against loops over single numbers: reductions, norms, products, convolutions, pooling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.operators.functions.catalogue import _FAMILIES, OPERATORS
from tensorparity.operators.functions.convolution import padding_of
from tensorparity.operators.functions.normalization import first, last

RNG = np.random.default_rng(11)


def value(name: str, *arrays: Array, **params: object) -> Array:
    return OPERATORS.get(name).evaluate(params, arrays).value


def cells(shape: Sequence[int]) -> itertools.product[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


# Reductions


def mean(row: Sequence[float]) -> float:
    return math.fsum(row) / len(row)


def variance(row: Sequence[float]) -> float:
    return mean([(x - mean(row)) ** 2 for x in row])


def logsumexp(row: Sequence[float]) -> float:
    return max(row) + math.log(math.fsum(math.exp(x - max(row)) for x in row))


def so_far(function: Callable[[Sequence[float]], float]) -> Callable[[Sequence[float]], list[float]]:
    return lambda row: [function(row[: end + 1]) for end in range(len(row))]


REDUCTIONS: dict[str, Callable[[Sequence[float]], object]] = {
    "sum": math.fsum,
    "mean": mean,
    "prod": math.prod,
    "max": max,
    "min": min,
    "var": variance,
    "std": lambda row: math.sqrt(variance(row)),
    "logsumexp": logsumexp,
    "l2_norm": lambda row: math.hypot(*row),
    "l1_norm": lambda row: math.fsum(map(abs, row)),
    "cumsum": so_far(math.fsum),
    "cumprod": so_far(math.prod),
    "cummax": so_far(max),
    "logcumsumexp": so_far(logsumexp),
}


@pytest.mark.parametrize("name", _FAMILIES["reductions"].split())
@pytest.mark.parametrize("shift", [0.0, 900.0])
def test_reductions_row_by_row(name: str, shift: float) -> None:
    x = RNG.normal(size=(2, 3, 5)) + shift
    expected = [[REDUCTIONS[name](row.tolist()) for row in block] for block in x]
    np.testing.assert_allclose(value(name, x), expected, rtol=1e-10 if name in ("var", "std") else 1e-13)


def test_only_the_largest_may_be_taken_out_of_exponents() -> None:
    x = np.array([[0.0, 1500.0, -3.0], [-1500.0, -1501.0, 2.0]])
    np.testing.assert_allclose(value("logsumexp", x), [logsumexp(row) for row in x.tolist()], rtol=1e-14)
    np.testing.assert_allclose(value("logcumsumexp", x), [so_far(logsumexp)(row) for row in x.tolist()], rtol=1e-14)


# Norms

EPSILONS = (2.0**-10, 2.0**-3)


def standardized(numbers: dict[tuple[int, ...], float], epsilon: float) -> dict[tuple[int, ...], float]:
    middle = mean(list(numbers.values()))
    root = math.sqrt(variance(list(numbers.values())) + epsilon)
    return {where: (x - middle) / root for where, x in numbers.items()}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ["layer_norm", "instance_norm", "group_norm"])
def test_standardizing_norms(name: str, epsilon: float) -> None:
    x, scale, offset = RNG.normal(2, 1, (2, 3, 2, 6)), RNG.normal(size=6), RNG.normal(size=6)
    found = value(name, x, scale, offset, epsilon=epsilon, **({"groups": 3} if name == "group_norm" else {}))
    together = {
        "layer_norm": lambda n, i, j, c: (n, i, j),
        "instance_norm": lambda n, i, j, c: (n, c),
        "group_norm": lambda n, i, j, c: (n, c // 2),
    }[name]
    sets: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {}
    for where in cells(x.shape):
        sets.setdefault(together(*where), {})[where] = float(x[where])
    for members in sets.values():
        for where, normal in standardized(members, epsilon).items():
            assert found[where] == pytest.approx(normal * scale[where[-1]] + offset[where[-1]], rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_norms_by_formula(epsilon: float) -> None:
    x = RNG.normal(size=(2, 3, 4))
    average, spread, scale, offset = RNG.normal(size=4), RNG.uniform(0.1, 2, 4), RNG.normal(size=4), RNG.normal(size=4)
    norm = value("norm", x, average, spread, scale, offset, epsilon=epsilon)
    rms = value("rms_norm", x, scale, epsilon=epsilon)
    unit = value("l2_normalize", x)
    for *row, c in cells(x.shape):
        at = x[(*row, c)]
        squares = math.fsum(float(other) ** 2 for other in x[tuple(row)])
        assert norm[(*row, c)] == pytest.approx(
            (at - average[c]) / math.sqrt(spread[c] + epsilon) * scale[c] + offset[c], rel=1e-12, abs=1e-14
        )
        assert rms[(*row, c)] == pytest.approx(at / math.sqrt(squares / 4 + epsilon) * scale[c], rel=1e-12)
        assert unit[(*row, c)] == pytest.approx(at / math.sqrt(squares), rel=1e-12)
    assert value("l2_normalize", np.zeros((1, 3))).tolist() == [[0.0, 0.0, 0.0]]


def test_local_response() -> None:
    x = RNG.normal(0, 40, (2, 3, 8))
    found = value("lrn", x)
    for *row, c in cells(x.shape):
        near = [float(x[(*row, other)]) ** 2 for other in range(8) if abs(other - c) <= 2]
        expected = x[(*row, c)] / (1 + 2.0**-13 * math.fsum(near)) ** 0.75
        assert found[(*row, c)] == pytest.approx(expected, rel=1e-12)


def test_operands_have_the_size_of_the_channels() -> None:
    assert OPERATORS.get("layer_norm").sizes({}, (4, 7)) == {"x": (4, 7), "scale": (7,), "offset": (7,)}
    assert set(OPERATORS.get("norm").sizes({}, (4, 7))) == {"x", "mean", "variance", "scale", "offset"}


@pytest.mark.parametrize("sizes", [(3,), (2, 3), (4, 2, 3)])
def test_channels_go_first_and_come_back(sizes: tuple[int, ...]) -> None:
    x = np.zeros((9, *sizes))
    turned = x.transpose(first(sizes))
    assert turned.shape == (9, sizes[-1], *sizes[:-1])
    assert turned.transpose(last(sizes)).shape == x.shape


# Products


def test_products_entry_by_entry() -> None:
    x, y = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 4, 6))
    w, bias = RNG.normal(size=(4, 6)), RNG.normal(size=6)
    other, rows = RNG.normal(size=(2, 5, 4)), RNG.normal(size=(2, 3, 4))

    def dotted(a: Array, b: Array) -> float:
        return math.fsum(float(p) * float(q) for p, q in zip(a, b, strict=True))

    product, linear, einsum = value("matmul", x, y), value("linear", x, w, bias), value("einsum", x, other)
    distances, dots, cosines = value("cdist", x, other), value("dot", x, rows), value("cosine_similarity", x, rows)
    outer = value("outer", x, RNG.permuted(rows, axis=-1))
    assert outer.shape == (2, 3, 4, 4)
    for n, i in cells((2, 3)):
        assert dots[n, i] == pytest.approx(dotted(x[n, i], rows[n, i]), rel=1e-12)
        lengths = math.hypot(*x[n, i]) * math.hypot(*rows[n, i])
        assert cosines[n, i] == pytest.approx(dotted(x[n, i], rows[n, i]) / lengths, rel=1e-12)
        for k in range(6):
            assert product[n, i, k] == pytest.approx(dotted(x[n, i], y[n, :, k]), rel=1e-12)
            assert linear[n, i, k] == pytest.approx(dotted(x[n, i], w[:, k]) + bias[k], rel=1e-12)
        for k in range(5):
            assert einsum[n, i, k] == pytest.approx(dotted(x[n, i], other[n, k]), rel=1e-12)
            assert distances[n, i, k] == pytest.approx(math.dist(x[n, i], other[n, k]), rel=1e-12)
    a, b = np.array([[2.0, 3.0]]), np.array([[5.0, 7.0, 11.0]])
    assert value("outer", a, b).tolist() == [[[10.0, 14.0, 22.0], [15.0, 21.0, 33.0]]]
    assert value("cosine_similarity", np.zeros((1, 2)), a).tolist() == [0.0]


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (1e4, 1.0), (0.0, 1e3)])
def test_attention_head_by_head(shift: float, scale: float) -> None:
    """A constant added to every key shifts all scores of a query, which changes nothing."""
    q, k, v = (RNG.normal(size=(2, 5, 3, 4)) for _ in range(3))
    q = q * scale
    found = value("attention", q, k + shift, v)
    assert found.shape == (2, 5, 3, 4)
    for n, t, h in cells((2, 5, 3)):
        scores = [float(q[n, t, h] @ k[n, s, h]) / math.sqrt(4) for s in range(5)]
        powers = [math.exp(score - max(scores)) for score in scores]
        for d in range(4):
            expected = math.fsum(p * float(v[n, s, h, d]) for s, p in enumerate(powers)) / math.fsum(powers)
            assert found[n, t, h, d] == pytest.approx(expected, rel=1e-7 if shift else 1e-9, abs=1e-9 if shift else 0)


@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [
        ("matmul", (7, 16), {"x": (7, 16), "y": (16, 6)}),
        ("linear", (9,), {"x": (9,), "w": (9, 6), "bias": (6,)}),
        ("einsum", (7, 16), {"x": (7, 16), "y": (5, 16)}),
        ("outer", (7,), {"x": (7,), "y": (5,)}),
        ("cdist", (3, 16), {"x": (3, 16), "y": (4, 16)}),
        ("conv2d", (9, 2, 3), {"x": (9, 2, 3), "kernel": (2, 2, 3, 8)}),
        ("conv1d", (9, 3), {"x": (9, 3), "kernel": (3, 3, 8)}),
        ("conv2d_transpose", (7, 8, 5), {"x": (7, 8, 5), "kernel": (3, 3, 4, 5)}),
        ("depthwise_conv2d", (7, 9, 5), {"x": (7, 9, 5), "kernel": (3, 3, 5, 1)}),
    ],
)
def test_sizes_of_operands(name: str, shape: tuple[int, ...], sizes: dict[str, tuple[int, ...]]) -> None:
    assert OPERATORS.get(name).sizes({}, shape) == sizes


# Windows


def naive_padding(size: int, window: int, stride: int, dilation: int) -> tuple[int, int]:
    """The least number of zeros that gives ceil(size / stride) places, the odd one at the end."""
    reach = (window - 1) * dilation + 1
    total = 0
    while len(range(0, size + total - reach + 1, stride)) < len(range(0, size, stride)):
        total += 1
    return total // 2, total - total // 2


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize("window", [1, 2, 3, 4])
def test_padding_is_the_least_that_keeps_the_size(window: int, stride: int, dilation: int) -> None:
    for size in range(1, 9):
        assert padding_of(size, window, stride, dilation, "same") == naive_padding(size, window, stride, dilation)
        assert padding_of(size, window, stride, dilation, "valid") == (0, 0)


def naive_windows(x: Array, size: Sequence[int], stride: int, dilation: int, same: bool) -> dict[tuple, list]:
    """Per output place: the position in the window, and the values of all channels there; zeros outside."""
    pads = [naive_padding(n, k, stride, dilation) if same else (0, 0) for n, k in zip(x.shape[:-1], size, strict=True)]
    counts = [
        (n + sum(pad) - (k - 1) * dilation - 1) // stride + 1
        for n, k, pad in zip(x.shape[:-1], size, pads, strict=True)
    ]
    found: dict[tuple, list] = {}
    for place in cells(counts):
        for offset in cells(size):
            at = tuple(p * stride + o * dilation - pad[0] for p, o, pad in zip(place, offset, pads, strict=True))
            inside = all(0 <= a < n for a, n in zip(at, x.shape[:-1], strict=True))
            found.setdefault(place, []).append((offset, x[at] if inside else np.zeros(x.shape[-1])))
    return found


SPATIAL = {1: (7,), 2: (5, 6), 3: (4, 5, 3)}


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 1)])
@pytest.mark.parametrize(("name", "size"), [("conv1d", (3,)), ("conv2d", (2, 3)), ("conv3d", (2, 1, 2)),
                                            ("depthwise_conv2d", (3, 2))])  # fmt: skip
def test_convolution_place_by_place(name: str, size: Sequence[int], stride: int, dilation: int, padding: str) -> None:
    x = RNG.normal(size=(2, *SPATIAL[len(size)], 2))
    kernel = RNG.normal(size=(*size, 2, 3))
    found = value(name, x, kernel, strides=stride, dilation=dilation, padding=padding)
    for n in range(2):
        places = naive_windows(x[n], size, stride, dilation, padding == "same")
        assert found.shape[1:-1] == tuple(last + 1 for last in max(places))
        for place, seen in places.items():
            if name.startswith("depthwise"):
                expected = sum(values[:, None] * kernel[offset] for offset, values in seen).ravel()
            else:
                expected = sum(values @ kernel[offset] for offset, values in seen)
            np.testing.assert_allclose(found[(n, *place)], expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("size", [(3,), (2, 3), (2, 1, 2)])
def test_transposed_convolution_spreads_the_kernel(size: Sequence[int], stride: int) -> None:
    dims = len(size)
    x, kernel = RNG.normal(size=(2, *(n - 2 for n in SPATIAL[dims]), 2)), RNG.normal(size=(*size, 3, 2))
    found = value(f"conv{dims}d_transpose", x, kernel, strides=stride)
    expected = np.zeros((2, *((n - 1) * stride + k for n, k in zip(x.shape[1:-1], size, strict=True)), 3))
    for n, *at in cells(x.shape[:-1]):
        for offset in cells(size):
            where = tuple(a * stride + o for a, o in zip(at, offset, strict=True))
            expected[(n, *where)] += kernel[offset] @ x[(n, *at)]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pooling_place_by_place(dims: int, stride: int, size: int) -> None:
    x = RNG.normal(size=(2, *(n + 1 for n in SPATIAL[dims]), 2))
    names = {
        1: ("max_pool1d", "avg_pool1d"),
        2: ("pooling", "avg_pool2d", "lp_pool2d"),
        3: ("max_pool3d", "avg_pool3d"),
    }
    pooled = [
        lambda seen: np.max(seen, 0),
        lambda seen: np.sum(seen, 0) / len(seen),
        lambda seen: np.linalg.norm(seen, axis=0),
    ]
    for name, pool in zip(names[dims], pooled, strict=False):
        found = value(name, x, size=size, strides=stride)
        for n in range(2):
            places = naive_windows(x[n], (size,) * dims, stride, 1, False)
            assert found.shape[1:-1] == tuple(last + 1 for last in max(places))
            for place, seen in places.items():
                np.testing.assert_allclose(found[(n, *place)], pool([values for _, values in seen]), rtol=1e-12)


def test_the_whole_image_and_larger_images() -> None:
    x = RNG.normal(size=(2, 3, 4, 2))
    whole = value("global_avg_pool2d", x)
    for n, c in cells((2, 2)):
        assert whole[n, c] == pytest.approx(math.fsum(x[n, :, :, c].ravel()) / 12, rel=1e-12)
    for factor in (2, 3):
        near, blended = value("resize_nearest", x, factor=factor), value("resize_bilinear", x, factor=factor)
        assert near.shape == blended.shape == (2, 3 * factor, 4 * factor, 2)
        for n, i, j, c in cells(near.shape):
            assert near[n, i, j, c] == x[n, i // factor, j // factor, c]
            row, column = (i + 0.5) / factor - 0.5, (j + 0.5) / factor - 0.5
            expected = np.interp(row, range(3), [np.interp(column, range(4), cut) for cut in x[n, :, :, c]])
            assert blended[n, i, j, c] == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_a_family_knows_its_operators_by_name() -> None:
    for name, dims in (("max_pool1d", 1), ("avg_pool2d", 2), ("pooling", 2), ("max_pool3d", 3), ("lp_pool2d", 2)):
        assert {len(shape) for shape in OPERATORS.get(name).shapes} == {dims + 1}
