"""Layouts: which symbols the shapes of a call's tensors are made of, so that what must be equal is one symbol."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .constraints import Category, Constraint, merged
from .documentation import Facts, shapes_in

Shape = tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """Symbolic shapes by rule: the first tensor's, and those of the others with it.

    Args:
        rest: how the other tensors follow from the first; ``documented`` takes them from ``shapes``.
        last: a symbol of the last axes: ``matrix`` for a square one.
    """

    rank: int
    rest: str = "same"
    matrix: bool = False
    shapes: tuple[tuple[str, Shape], ...] = ()

    def assign(self, names: Sequence[str]) -> dict[str, Shape]:
        """The shape of each tensor, in symbols."""
        if self.rest == "documented":
            known = dict(self.shapes)
            first = next((known[name] for name in names if name in known), self._first())
            return {name: known.get(name, first) for name in names}
        first = self._first()
        return {name: first if place == 0 else self._other(first, place, name) for place, name in enumerate(names)}

    def _first(self) -> Shape:
        symbols = tuple(f"s{axis}" for axis in range(self.rank))
        if self.matrix and self.rank >= 2:
            return (*symbols[:-2], "m", "m")
        if self.rest == "channels last" and self.rank >= 3:
            return ("s0", *(f"image{axis}" for axis in range(self.rank - 2)), "c")
        if self.rest == "channels first" and self.rank >= 3:
            return ("s0", "c", *(f"image{axis}" for axis in range(self.rank - 2)))
        return symbols

    def _other(self, first: Shape, place: int, name: str) -> Shape:
        rest = own_shape(name) or "same" if self.rest == "named" else self.rest
        return self._rest(first, place, rest)

    def _rest(self, first: Shape, place: int, rest: str) -> Shape:
        kernel = tuple(f"kernel{axis}" for axis in range(self.rank - 2))
        others: Mapping[str, Shape] = {
            "same": first,
            "broadcast": first[1:] if place % 2 else ("1", *first[1:]),
            "scalars": (),
            "last axis": first[-1:],
            "second axis": first[1:2] or first,
            "first axis": first[:1],
            "rows": first[:-1],
            "matmul": (*first[:-2], first[-1], "j") if len(first) > 1 else first,
            "columns": (*first[:-1], "j"),
            "channels last": (*kernel, "c", "o") if place == 1 else ("o",),
            "channels first": ("o", "c", *kernel) if place == 1 else ("o",),
            "per axis": (str(self.rank),),
            "pairs": (str(self.rank), "2"),
            "pair": ("2",),
            "vector": ("v",),
            "vectors": (f"v{place}",),
        }
        if rest == "matmul" and place > 1:
            return (*first[:-1], "j")
        return others[rest]

    def __str__(self) -> str:
        if self.rest == "documented":
            return "; ".join(f"{name} [{', '.join(shape)}]" for name, shape in self.shapes)
        return f"rank {self.rank}{', square' if self.matrix else ''}, others {self.rest}"


_MATRIX = re.compile(
    r"square matri|symmetric|hermitian|positive.definite|eigen|determinant|inverse of|cholesky|M, ?M\]|schur|"
    r"matrix (exponential|logarithm|square root|power)|triangular|invertible|N, ?N|\(\*, n, n\)",
    re.IGNORECASE,
)
_IMAGE = re.compile(
    r"(?<!un)pool|conv[123_dt]|conv$|image|resize|up_?sampling|interpolat|crop|pad(ding)?[123]d|depth_?to_?space|"
    r"space_?to_?depth|lrn|dilation2d|pixel|hue|saturation|rgb|patches",
    re.IGNORECASE,
)
_COLOURS = re.compile(r"rgb|hsv|yiq|yuv|hue|saturation|grayscale|jpeg", re.IGNORECASE)
_FILTERED = re.compile(r"conv|Conv|Dilation2D|erosion|dilation2d", re.IGNORECASE)
#: Tensors whose shape their own name tells, whatever the others are: of the first tensor's shape.
_OWN_SHAPES: tuple[tuple[str, str], ...] = (
    (r"^(axis|dim|num_.*|k|depth|n|shift|size_splits|start|stop|limit|delta|on_value|off_value|max_output_size|"
     r".*threshold|fill_value|dimension|concat_dim|split_dim|constant_values|min_range|max_range|"
     r"half_pixel.*|sample_rate|nrows|.*_height|.*_width|seq_len_max|cell_clip|l1|l2|lr|alpha|beta|epsilon|rate|"
     r"factor|contrast_factor|default_value|padding_value)$", "scalars"),
    (r"^value_range$", "pair"),
    (r"^(segment_ids|ids|lengths?|seq_lengths?|sequence_lengths?|batch_index|box_ind|labels?|targets?)$", "first axis"),
    (r"^(bias|mean|variance|var|scale|offset|gamma|beta|running_mean|running_var|moving_mean|moving_variance)$",
     "last axis"),
    (r"^(paddings|pad_width|crops)$", "pairs"),
    (r"^(shape|begin|size|perm|permutation|multiples|dims|output_shape|dense_shape|newshape|input_sizes|end|strides)$",
     "per axis"),
)  # fmt: skip
_PRODUCT = re.compile(r"matmul|matrix (product|multipl)|multiplies matrix|\bdot\b|inner product", re.IGNORECASE)


def own_shape(name: str) -> str:
    """How a tensor of this name follows from the first one, where its name tells."""
    return next((rest for pattern, rest in _OWN_SHAPES if re.search(pattern, name)), "")


def layout_options(
    names: Sequence[str], facts: Mapping[str, Facts], doc: str, name: str, *, channels_first: bool
) -> list[Constraint]:
    """Layouts that the documentation and the name make probable, and the common ones."""
    head = f"{name} {doc[:1200]}"
    found = [*_documented(names, facts, doc)]
    ranks = _rank_weights(names, facts, head)
    several = len(names) > 1
    for rank, weight in ranks.items():
        found.append(_option(names, Layout(rank), weight, "form"))
        if not several:
            continue
        for rest, share in (("broadcast", 0.25), ("scalars", 0.3), ("last axis", 0.25), ("first axis", 0.15),
                            ("second axis", 0.12), ("rows", 0.12), ("columns", 0.05), ("per axis", 0.08),
                            ("pairs", 0.06), ("pair", 0.04), ("vector", 0.05), ("vectors", 0.06)):  # fmt: skip
            if rank:
                found.append(_option(names, Layout(rank, rest), weight * share, "form"))
        if any(own_shape(other) for other in names[1:]):
            found.append(_option(names, Layout(rank, "named"), weight * 4, "name"))
    if _MATRIX.search(head):
        found += [_option(names, Layout(rank, "same", True), 18.0 / rank, "documentation") for rank in (2, 3)]
        found += [
            _option(names, Layout(rank, "columns", True), 12.0 / rank, "documentation") for rank in (2, 3) if several
        ]
    if several and _PRODUCT.search(head):
        found += [_option(names, Layout(rank, "matmul"), 16.0 / rank, "documentation") for rank in (2, 3)]
    if names and (_IMAGE.search(name.rsplit(".", 1)[-1]) or ".image." in name):
        found += _images(names, name, channels_first=channels_first)
    return merged(found)[:40]


def _images(names: Sequence[str], name: str, *, channels_first: bool) -> list[Constraint]:
    """Images with their channels where the library has them, and filters where the function filters."""
    dimensions = int((re.search(r"([123])d", name.lower()) or (None, "2"))[1] or 2) + 2
    orders = ("channels first", "channels last") if channels_first else ("channels last", "channels first")
    found = []
    for order, weight in zip(orders, (20.0, 2.0), strict=True):
        filtered = bool(_FILTERED.search(name)) or len(names) == 1
        layout = Layout(dimensions, order if filtered else "named")
        found.append(_option(names, layout, weight, "name"))
        if _COLOURS.search(name):
            colours = Layout(4, "documented", shapes=((names[0], ("s0", "image0", "image1", "3")),))
            found.append(_option(names, colours, weight * 2, "name"))
        found += [_option(names, Layout(rank, order), weight / 8, "form") for rank in (3, 4, 5) if rank != dimensions]
    return found


def _option(names: Sequence[str], layout: Layout, weight: float, source: str) -> Constraint:
    category = Category.RELATION if len(names) > 1 else Category.SHAPE
    return Constraint(category, tuple(names), str(layout), source, weight, layout)


def _rank_weights(names: Sequence[str], facts: Mapping[str, Facts], head: str) -> dict[int, float]:
    said = [rank for name in names[:1] for rank in (facts[name].ranks if name in facts else ())]
    weights = {2: 3.0, 1: 2.0, 3: 1.5, 4: 1.0, 0: 0.6}
    for rank in said:
        weights[rank] = weights.get(rank, 0.5) + 12.0
    return weights


def _documented(names: Sequence[str], facts: Mapping[str, Facts], doc: str) -> list[Constraint]:
    """Layouts out of shapes that are written down; symbols of one name are one size."""
    known = {name: facts[name].shapes for name in names if name in facts and facts[name].shapes}
    found = []
    if known:
        for place in range(max(len(shapes) for shapes in known.values())):
            chosen = {name: shapes[min(place, len(shapes) - 1)] for name, shapes in known.items()}
            for name in names:
                for other in facts[name].same_shape if name in facts else ():
                    if other in chosen and name not in chosen:
                        chosen[name] = chosen[other]
            layout = Layout(2, "documented", shapes=tuple(sorted(chosen.items())))
            found.append(_option(names, layout, 14.0 / (1 + place), "documentation"))
    elif names:
        for place, shape in enumerate(shapes_in(_input_lines(doc))):
            layout = Layout(len(shape), "documented", shapes=((names[0], shape),))
            found.append(_option(names, layout, 6.0 / (1 + place), "documentation"))
    return found


def _input_lines(doc: str) -> str:
    """What is said of the shape of inputs, as modules and layers do below their parameters."""
    lines = doc.splitlines()
    near = [
        place for place, line in enumerate(lines) if re.search(r"input.{0,12}(shape|:)|Input:", line, re.IGNORECASE)
    ]
    return " ".join(" shape ".join(lines[place : place + 4]) for place in near[:4])
