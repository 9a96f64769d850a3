"""Algorithm 1: structures filled with layers until there are as many networks as were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.policies import PLAIN, Policy
from ...core.procedure import Goal, Mode, Procedure
from ...operators.catalogue import layer
from ...operators.spec import no_weights
from .assembly import Assembly, NetworkTensor
from .choices import choosable, reducing_layers, takes_edges
from .coverage import NetworkCoverage
from .palettes import DATA, EDGES, UNBOUNDED, DataShape, Samples, draw_shape, draw_style
from .placing import Placer
from .policies import draw_policy, max_goal_of, optimizer_for, style_for
from .settings import Network, NetworkSettings
from .structure import Structure, draw_structure
from .tasks import Task, draw_optimizer, draw_task

__all__ = ["Network", "NetworkGenerator", "NetworkSettings"]

_ATTEMPTS = 24
_BATCHES = (2, 1, 3)
_MOST_ELEMENTS = 1024
_MORE_INPUTS, _MORE_OUTPUTS = 0.1, 0.15
#: How often a layer that fits is used again; few fit.
_SHARED = 0.35
#: What a target is known not to have costs its vote for the whole network, so few networks have any of it.
_EXOTIC = 0.12
#: How often a network is one of edges: so many layers side by side, each on inputs of its own.
_EDGES, _BRANCHES, _JOINT = 1 / 8, 24, (4, 1)
#: One in so many of them may have weights or several inputs: most of what is told by cases has neither.
_OTHERS = 4
#: A power of two below one over the number of branches: so many of the greatest numbers do not overflow together.
_QUIETER = 2.0**-6
#: How often a network runs the way users get, which compilers take several times as long for.
_AS_USERS = 1 / 16


class NetworkGenerator:
    """Draws one network after another; the n-th depends on the seed and on those before it.

    Args:
        samples: by data set; the others are drawn.

    Raises:
        UsageError: if networks of these settings cannot have any of the layers.
    """

    def __init__(
        self, seed: int, settings: NetworkSettings | None = None, samples: Mapping[str, Samples] | None = None
    ) -> None:
        self._settings = settings or NetworkSettings()
        self._samples = samples or {}
        self._seed = seed
        self._index = 0
        names = self._settings.names()
        self.coverage = NetworkCoverage(names, steered=self._settings.steered, policies=self._settings.policy_names())
        self._single, self._multiple = choosable(names, integers=self._settings.varied)

    def next(self) -> Network:
        rng = np.random.default_rng([self._seed, 0x3FF1, self._index])
        self._index += 1
        policy = draw_policy(self._seed, self._index, self._settings.policy_names())
        build = _Build(rng, self._settings, self.coverage, self._single, self._multiple, self._index, policy)
        network = build.run(self._samples)
        self.coverage.use_network(network.case)
        return network


class _Build:
    """One network."""

    def __init__(
        self,
        rng: np.random.Generator,
        settings: NetworkSettings,
        coverage: NetworkCoverage,
        single: Sequence[str],
        multiple: Sequence[str],
        number: int,
        policy: Policy,
    ) -> None:
        self._rng = rng
        self._policy = policy
        self._settings = settings
        self._coverage = coverage
        self._single, self._multiple = single, multiple
        self._number = number
        self._data = self._draw_data()
        drawn = bool(rng.random() < 0.5)
        self._training = drawn if settings.training is None else settings.training
        self._exotic = bool(rng.random() < _EXOTIC) or not settings.varied
        style = style_for(policy, draw_style(rng) if settings.varied else "normal")
        self._first_shape = self._data.shape or draw_shape(rng, int(rng.choice((2, 3, 3, 4, 4, 5))))
        most = max(_MOST_ELEMENTS, 2 * int(np.prod(self._first_shape)))
        quiet = settings.varied and not settings.unit
        net = Assembly(rng, int(rng.choice(_BATCHES)), most, self._training, policy=policy, quiet=quiet)
        self._place = self._placer(net, style)
        self._labels: Array | None = None

    def _placer(self, net: Assembly, style: str) -> Placer:
        return Placer(
            self._rng,
            self._settings,
            self._coverage,
            self._policy,
            net,
            style,
            training=self._training,
            exotic=self._exotic,
            first_shape=self._first_shape,
        )

    def _draw_data(self) -> DataShape:
        """Those asked for in turn, the same number of each as in the paper; otherwise by share."""
        if named := self._settings.data:
            return DATA[named[self._number % len(named)]]
        choices = [data for data in DATA.values() if data.share]
        shares = np.array([data.share for data in choices])
        return choices[int(self._rng.choice(len(choices), p=shares / shares.sum()))]

    def run(self, samples: Mapping[str, Samples]) -> Network:
        free = self._settings.varied and not self._settings.unit and self._data.shape is None
        if free and self._rng.random() < _EDGES:
            return self._edges()
        structure = self._structure()
        tensors = [self._first_input(samples.get(self._data.name))]
        for vertex in range(1, structure.size):
            sources = [tensors[source] for source in structure.predecessors[vertex]]
            tensors.append(self._vertex(sources, vertex in structure.reducing))
        return self._finish(structure, tensors)

    def _structure(self) -> Structure:
        settings = self._settings
        if not settings.unit:
            return draw_structure(self._rng, settings.max_cells, settings.max_vertices)
        return Structure(((), (0,)), template="unit")

    def _first_input(self, samples: Samples | None) -> NetworkTensor:
        if samples is None:
            return self._place.new_input(self._first_shape)
        rows = self._rng.integers(len(samples.inputs), size=self._place.net.batch)
        self._labels = samples.labels[rows]
        return self._place.net.input(samples.inputs[rows].astype(np.float32))

    # Beyond the paper: what flows into a layer deep in a network has seldom a tie, and never a NaN

    def _edges(self) -> Network:
        rng = self._rng
        style = style_for(self._policy, EDGES[self._coverage.edge_networks % len(EDGES)])
        self._coverage.edge_networks += 1
        finite, empty, batch = style not in UNBOUNDED, style == "empty", self._place.net.batch
        net = Assembly(rng, batch, _MOST_ELEMENTS, self._training, finite=finite, policy=self._policy, empty=empty)
        self._place = self._placer(net, style)
        names = [name for name in (*self._single, *self._multiple) if takes_edges(name, style)]
        plain = [name for name in names if layer(name).arity[0] == 1 and layer(name).weights is no_weights]
        ends = [
            self._place.branch(plain if plain and number % _OTHERS else names)
            for number in range(_BRANCHES if names else 0)
        ]
        found = [end for end in ends if end is not None]
        if style == "huge":  # whether a sum of them overflows on the way would depend on its order
            joined = [self._place.net.bring(self._quieter(end), _JOINT) for end in found]
        else:
            joined = [self._place.net.bring(end, _JOINT) for end in self._by_shape(found)]
        if not joined:
            joined = [self._place.fallback(self._place.new_input(draw_shape(rng, 2)))]
        total = self._place.net.add("Add", joined, {}) if len(joined) > 1 else None
        return self._finish(Structure(((),), template="edges"), [total or joined[0]])

    def _quieter(self, end: NetworkTensor) -> NetworkTensor:
        return self._place.net.add("Rescaling", [end], {"scale": _QUIETER}) or end

    def _by_shape(self, ends: Sequence[NetworkTensor]) -> list[NetworkTensor]:
        """Those of one shape added up, so that fewer of them have to be fitted to each other."""
        groups: dict[tuple[int, ...], list[NetworkTensor]] = {}
        for end in ends:
            groups.setdefault(end.shape, []).append(end)
        found: list[NetworkTensor] = []
        for group in groups.values():
            total = self._place.net.add("Add", group, {}) if len(group) > 1 else None
            found += group if total is None else [total]
        return found

    # Lines 19 to 29

    def _vertex(self, sources: Sequence[NetworkTensor], reducing: bool) -> NetworkTensor:
        if self._settings.unit:
            return self._unit(sources[0])
        if reducing and sources[0].elements > 1:
            return self._reduction(sources[0])
        varied = self._settings.varied
        if len(sources) == 1 and varied and self._multiple and self._rng.random() < _MORE_INPUTS:
            sources = [*sources, self._place.new_input(draw_shape(self._rng, int(self._rng.choice((2, 3, 4)))))]
        if len(sources) == 1 and self._single:
            return self._single_input(sources[0])
        return self._several_inputs(sources if len(sources) > 1 else self._place.with_others(sources[0], 2))

    def _reduction(self, source: NetworkTensor) -> NetworkTensor:
        """The end of a reduction cell: a layer that makes it smaller, or cropping where none was found."""
        candidates = reducing_layers(self._single)
        for _ in range(_ATTEMPTS if candidates else 0):
            name = self._coverage.choose_layer(self._rng, candidates, [source.op], len(source.shape) + 1)
            added = self._place.single(name, source, reducing=True)
            if added is not None:
                return added
        return self._place.net.bring(source, (source.elements // 2,))

    def _unit(self, source: NetworkTensor) -> NetworkTensor:
        everything = [*self._single, *self._multiple]
        for _ in range(_ATTEMPTS):
            name = self._coverage.choose_layer(self._rng, everything, ())
            if layer(name).arity[0] == 1:
                added = self._place.single(name, source)
            else:
                added = self._place.several(name, self._place.with_others(source, layer(name).arity[0]))
            if added is not None:
                return added
        return source

    def _single_input(self, source: NetworkTensor) -> NetworkTensor:
        known = self._place.net.reusable(source) if self._settings.varied else []
        if known and self._rng.random() < _SHARED:
            again = self._place.net.add_again(known[int(self._rng.integers(len(known)))], source)
            if again is not None:
                self._place.functional.append((again.ref.node, again.op))
                return again
        for _ in range(_ATTEMPTS):
            name = self._coverage.choose_layer(self._rng, self._single, [source.op], len(source.shape) + 1)
            added = self._place.single(name, source)
            if added is not None:
                return added
        return self._place.fallback(source)

    def _several_inputs(self, sources: Sequence[NetworkTensor]) -> NetworkTensor:
        count = len(sources)
        fitting = [name for name in self._multiple if (layer(name).arity[1] or count) >= count]
        for _ in range(_ATTEMPTS if fitting else 0):
            name = self._coverage.choose_layer(self._rng, fitting, [source.op for source in sources])
            added = self._place.several(name, sources)
            if added is not None:
                return added
        shape = sources[0].shape
        return (
            self._place.net.add("Add", [self._place.net.bring(source, shape) for source in sources], {}) or sources[0]
        )

    # Lines 30 to 32

    def _finish(self, structure: Structure, tensors: Sequence[NetworkTensor]) -> Network:
        rng, settings = self._rng, self._settings
        numbers = self._place.style not in UNBOUNDED
        bare, along = settings.unit or not numbers, settings.varied and not settings.unit
        task = draw_task(rng, self._data, bare=bare, numbers=numbers, along=along)
        ends = [tensors[-1]]
        if settings.varied and not settings.unit and len(tensors) > 3 and rng.random() < _MORE_OUTPUTS:
            ends.append(tensors[int(rng.integers(1, len(tensors) - 1))])
        outputs = [self._head(task, end) for end in ends]
        graph = self._place.net.graph(outputs, f"muffin-{self._number}")
        labels = {output.ref.node: task.labels(rng, self._place.net.batch, self._labels) for output in outputs}
        goal = max_goal_of(self._policy, settings.goal)
        procedure = Procedure(
            goal=goal,
            mode=Mode.USER if rng.random() < _AS_USERS else Mode.EAGER,
            trace=goal is Goal.FORWARD,
            training=self._training,
            loss=task.loss,
            optimizer=optimizer_for(self._policy, draw_optimizer(rng), rng) if goal is Goal.UPDATE else None,
            dtype=None if self._policy is PLAIN else self._policy.name,
        )
        case = Case(
            graph,
            procedure,
            self._place.net.inputs,
            labels,
            self._place.net.weights,
            seed=int(rng.integers(2**31)),
        )
        kept = {node.name for node in graph.nodes}
        return Network(
            case,
            self._data.name,
            structure,
            tuple(tensor.ref.node for tensor in tensors),
            tuple(name for node, name in self._place.functional if node in kept),
            tuple(use for node, use in self._place.uses if node in kept),
        )

    def _head(self, task: Task, end: NetworkTensor) -> NetworkTensor:
        if self._settings.unit:
            return task.bare_head(self._place.net, end)
        return (
            task.head(self._place.net, end, self._rng)
            if self._settings.varied
            else task.plain_head(self._place.net, end)
        )
