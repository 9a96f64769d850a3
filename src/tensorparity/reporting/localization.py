"""What the page needs to draw localization maps: each model's structure once, the numbers per pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..core.comparison import Comparison, LayerDeviation
from ..core.jsontext import Json
from .layout import Drawing, Route, Size, draw

_LAYER: Size = (190, 58)
#: What stands at the ends: bare, or with the picture and the predictions of an example.
_ENDS: dict[bool, tuple[Size, Size]] = {False: ((190, 58), (190, 44)), True: ((190, 168), (330, 196))}


@dataclass(frozen=True, slots=True)
class Maps:
    """Structures, and for each comparison its numbers with the index of its structure (None without layers)."""

    structures: Sequence[Json]
    numbers: Sequence[Json]


def maps(comparisons: Iterable[Comparison]) -> Maps:
    """One structure for all pairs that looked at the same layers."""
    pairs = list(comparisons)
    groups: dict[object, list[Comparison]] = {}
    for pair in pairs:
        if pair.layers:
            groups.setdefault(_shape(pair.layers), []).append(pair)
    structures = {shape: _Structure(group) for shape, group in groups.items()}
    places = {shape: index for index, shape in enumerate(structures)}
    numbers = []
    for pair in pairs:
        shape = _shape(pair.layers)
        numbers.append(structures[shape].numbers(pair, places[shape]) if pair.layers else None)
    return Maps([structure.to_json() for structure in structures.values()], numbers)


def _shape(layers: Sequence[LayerDeviation]) -> object:
    return tuple((layer.key, layer.type, layer.inputs) for layer in layers)


class _Structure:
    """The vertices of a map: the model's inputs, its layers, its outputs, in the order of the flow."""

    def __init__(self, pairs: Sequence[Comparison]) -> None:
        self._layers = pairs[0].layers
        keys = {layer.key for layer in self._layers}
        self._inputs = list(dict.fromkeys(name for layer in self._layers for name in layer.inputs if name not in keys))
        self._ends = self._final_layers({pair.output for pair in pairs})
        self._with_example = any(pair.example for pair in pairs)

    def _final_layers(self, outputs: set[str]) -> list[int]:
        """Layers that nobody uses, and those that are an output by their name although somebody does."""
        used = {name for layer in self._layers for name in layer.inputs}
        return [i for i, layer in enumerate(self._layers) if layer.key not in used or outputs & _names(layer)]

    def _flow(self) -> list[list[int]]:
        """What flows into each vertex; only what came before can."""
        known = {name: index for index, name in enumerate(self._inputs)}
        flow: list[list[int]] = [[] for _ in self._inputs]
        for layer in self._layers:
            flow.append([known[name] for name in layer.inputs if name in known])
            known[layer.key] = len(flow) - 1
        return flow + [[len(self._inputs) + index] for index in self._ends]

    def _sizes(self) -> list[Size]:
        first, last = _ENDS[self._with_example]
        return [first] * len(self._inputs) + [_LAYER] * len(self._layers) + [last] * len(self._ends)

    def to_json(self) -> Json:
        sizes = self._sizes()
        drawing = draw(self._flow(), sizes)
        return {
            "width": drawing.width,
            "height": drawing.height,
            "inputs": self._inputs,
            "layers": [[layer.name, layer.call, layer.type, dict(layer.parameters)] for layer in self._layers],
            "outputs": self._ends,
            "boxes": _boxes(drawing, sizes),
            "edges": [_edge(route) for route in drawing.routes],
        }

    def numbers(self, pair: Comparison, structure: int) -> Json:
        return {
            "structure": structure,
            "output": self._output(pair),
            "deviation": [_round_or_none(layer.deviation) for layer in pair.layers],
            "rate": [_round_or_none(layer.rate) for layer in pair.layers],
            "error": [_round_or_none(layer.isolated_error) for layer in pair.layers],
            "highlighted": [index for index, layer in enumerate(pair.layers) if layer.highlighted],
        }

    def _output(self, pair: Comparison) -> int:
        """Which of the outputs the pair is about; the last one if its name says nothing."""
        named = [place for place, index in enumerate(self._ends) if pair.output in _names(self._layers[index])]
        return named[-1] if named else len(self._ends) - 1


def _names(layer: LayerDeviation) -> set[str]:
    """How an output may be called that is this node."""
    return {layer.key, f"{layer.name}__{layer.call}"} | ({layer.name} if layer.call == 0 else set())


def _boxes(drawing: Drawing, sizes: Sequence[Size]) -> list[list[int]]:
    return [[x, y, *size] for (x, y), size in zip(drawing.places, sizes, strict=True)]


def _edge(route: Route) -> Json:
    runs = [[value for point in run for value in point] for run in route.runs]
    return [route.source, route.target, runs, [[hop.bottom, hop.gutter, hop.top] for hop in route.hops]]


def _round_or_none(value: float | None) -> float | None:
    return value if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def page_document(document: Mapping[str, Json], comparisons: Sequence[Comparison]) -> dict[str, Json]:
    """The document as the page embeds it: the layers of its comparisons as maps over shared structures."""
    found = maps(comparisons)
    entries = [
        {name: value for name, value in entry.items() if name != "layers"} | {"map": numbers}
        for entry, numbers in zip(document.get("comparisons", ()), found.numbers, strict=True)
    ]
    return dict(document) | ({"comparisons": entries, "structures": list(found.structures)} if entries else {})
