"""Algorithm 1: structures filled with layers until there are as many networks as were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.jsontext import Json
from ...core.policies import PLAIN, Policy
from ...core.procedure import Goal, Mode, Procedure
from ...operators.catalogue import layer, layer_names
from ...operators.spec import Domain, LayerSpec, no_weights
from .assembly import Assembly, Tensor
from .coverage import Coverage
from .masked import masked_sequence
from .palettes import DATA, EDGES, SHAPES, DataShape, Samples, draw_shape, draw_style, draw_values, factorized
from .policies import SHARES, draw_policy, furthest, optimizer_for, style_for
from .structure import MAX_CELLS, MAX_VERTICES, Structure, draw_structure
from .support import ambiguous, hopeless, lacking, lacking_in
from .tasks import draw_optimizer, draw_task

_ATTEMPTS = 24
_FITTINGS = 6
_BATCHES = (2, 1, 3)
_MOST_ELEMENTS = 1024

#: Layers that make their input smaller: what a reduction cell may end in.
_REDUCING = ("Pooling", "Cropping", "Conv1D", "Conv2D", "Conv3D", "CenterCrop", "Resizing")
#: Layers whose training changes their own weights before they are used; their reference is of inference.
_INFERENCE_ONLY = ("SpectralNormalization",)
_MORE_INPUTS, _MORE_OUTPUTS = 0.1, 0.15
#: How often a layer that fits is used again; few fit.
_SHARED = 0.35
#: What a target is known not to have costs its vote for the whole network, so few networks have any of it.
_EXOTIC, _HOPELESS = 0.12, 0.02
#: How often a network is one of edges: so many layers without weights side by side, each on an input of its own.
_EDGES, _BRANCHES, _JOINT = 1 / 16, 16, (4, 1)
#: Whether a weight of 0 makes a NaN disappear is nobody's promise.
_BLENDING = ("Resizing", "UpSampling2D")
#: How often a layer that reads a mask has one.
_MASKED = 0.3
#: How often a window is as large as what it slides over.
_FILLS = 0.15
#: How often a network runs the way users get, which compilers take several times as long for.
_AS_USERS = 1 / 16
#: How often a layer gets its input as it is, where the rank fits; and reshaped without cropping, where it does not.
_AS_IT_IS, _RESHAPED_ONLY = 0.95, 0.8


@dataclass(frozen=True)
class NetworkSettings:
    """What networks are made of.

    Args:
        layers: the layers to choose from; all of the catalogue's by default.
        data: names of ``palettes.DATA``; by default all, by their share.
        unit: Muffin-UT: one functional layer per network, with reshaping around it.
        steered: prefer what has not been covered; otherwise exactly the paper's 1 / (c + 1).
        varied: beyond the paper: several inputs and outputs, shared layers, other dtype policies.
        policies: the dtype policies to draw from, by the shares of ``policies.SHARES``; all by default.
        goal: how far the networks are run.
        training: the training flag of all networks; by default half of them have it.
    """

    layers: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    unit: bool = False
    steered: bool = True
    varied: bool = True
    policies: tuple[str, ...] = ()
    max_cells: int = MAX_CELLS
    max_vertices: int = MAX_VERTICES
    goal: Goal = Goal.UPDATE
    training: bool | None = None

    def names(self) -> tuple[str, ...]:
        return self.layers or tuple(layer_names())

    def policy_names(self) -> tuple[str, ...]:
        """The policies that networks may have; as in the paper there is but one."""
        return self.policies or (tuple(SHARES) if self.varied else (PLAIN.name,))


@dataclass(frozen=True)
class Network:
    """A generated case, and what it was made of."""

    case: Case
    data: str
    template: str
    layers: tuple[str, ...] = field(default=())

    @property
    def policy(self) -> str:
        return self.case.procedure.dtype or PLAIN.name


class NetworkGenerator:
    """Draws one network after another; the n-th depends on the seed and on those before it.

    Args:
        samples: by data set; the others are drawn.
    """

    def __init__(
        self, seed: int, settings: NetworkSettings | None = None, samples: Mapping[str, Samples] | None = None
    ) -> None:
        self._settings = settings or NetworkSettings()
        self._samples = samples or {}
        self._seed = seed
        self._index = 0
        names = self._settings.names()
        self.coverage = Coverage(names, steered=self._settings.steered, policies=self._settings.policy_names())
        self._single = [name for name in names if layer(name).arity[0] == 1]
        self._multiple = [name for name in names if layer(name).arity[0] > 1]

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
        coverage: Coverage,
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
        self._exotic = bool(rng.random() < _EXOTIC)
        self._style = style_for(policy, draw_style(rng))
        shape = self._data.shape or draw_shape(rng, int(rng.choice((2, 3, 3, 4, 4, 5))))
        most = max(_MOST_ELEMENTS, 2 * int(np.prod(shape)))
        self._net = Assembly(rng, int(rng.choice(_BATCHES)), most, self._training, policy=policy)
        self._first_shape = shape
        self._labels: Array | None = None
        self._functional: list[str] = []

    def _draw_data(self) -> DataShape:
        named = [DATA[name] for name in self._settings.data]
        choices = named or [data for data in DATA.values() if data.share]
        shares = np.array([1.0 if named else data.share for data in choices])
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

    def _first_input(self, samples: Samples | None) -> Tensor:
        if samples is None:
            return self._new_input(self._first_shape)
        rows = self._rng.integers(len(samples.inputs), size=self._net.batch)
        self._labels = samples.labels[rows]
        return self._net.input(samples.inputs[rows].astype(np.float32))

    def _new_input(self, shape: tuple[int, ...], domain: Domain | None = None) -> Tensor:
        full = (self._net.batch, *shape)
        dtype = "float64" if self._policy.compute == "float64" else "float32"
        return self._net.input(draw_values(self._rng, full, domain or Domain(), self._style, dtype))

    # Beyond the paper: what flows into a layer deep in a network has seldom a tie, and never a NaN

    def _edges(self) -> Network:
        rng = self._rng
        self._style = EDGES[int(rng.integers(len(EDGES)))]
        finite = self._style != "nan"
        self._net = Assembly(rng, self._net.batch, _MOST_ELEMENTS, self._training, finite=finite, policy=self._policy)
        names = [name for name in self._single if layer(name).weights is no_weights]
        if self._style == "nan":
            names = [name for name in names if name not in _BLENDING]
        ends = [self._branch(names) for _ in range(_BRANCHES if names else 0)]
        joined = [self._net.bring(end, _JOINT) for end in ends if end is not None]
        if not joined:
            joined = [self._fallback(self._new_input(draw_shape(rng, 2)))]
        total = self._net.add("Add", joined, {}) if len(joined) > 1 else None
        return self._finish(Structure(((),), template="edges"), [total or joined[0]])

    def _branch(self, names: Sequence[str]) -> Tensor | None:
        """One layer on a fresh input; None where nothing was found that takes one."""
        for _ in range(_FITTINGS):
            spec = layer(self._coverage.choose_layer(self._rng, names, ["Input"]))
            chosen = self._choose(spec)
            ranks = [rank for rank in spec.ranks if rank in SHAPES]
            if chosen is None or not ranks or spec.domain(spec.complete({**chosen[0], **chosen[1]})).low is not None:
                continue
            params, call_params = chosen
            before = self._net.mark()
            fresh = self._new_input(draw_shape(self._rng, int(self._rng.choice(ranks))))
            params = self._filling(spec, params, fresh)
            refused = self._refuses(spec, params, len(fresh.shape) + 1)
            added = None if refused else self._net.add(spec.name, [fresh], params, call_params)
            if added is not None and added.shape:
                self._count(spec, params, call_params, [fresh.op])
                return added
            self._net.restore(before)
        return None

    def _filling(self, spec: LayerSpec, params: dict[str, Json], given: Tensor) -> dict[str, Json]:
        """The parameters, at times with a window over the whole of the input."""
        name = next((p.name for p in spec.parameters if p.name in ("pool_size", "kernel_size")), None)
        if name is None or not len(given.shape) > 1 or self._rng.random() >= _FILLS:
            return params
        first = spec.complete(params).get("data_format") == "channels_first"
        sizes = list(given.shape[1:] if first else given.shape[:-1])
        return {**params, name: sizes if len(sizes) > 1 else sizes[0]}

    # Lines 19 to 29

    def _vertex(self, sources: Sequence[Tensor], reducing: bool) -> Tensor:
        if self._settings.unit:
            return self._unit(sources[0])
        varied = self._settings.varied
        if len(sources) == 1 and varied and not reducing and self._rng.random() < _MORE_INPUTS and self._multiple:
            sources = [*sources, self._new_input(draw_shape(self._rng, int(self._rng.choice((2, 3, 4)))))]
        if len(sources) == 1:
            return self._single_input(sources[0], reducing)
        return self._several_inputs(sources)

    def _unit(self, source: Tensor) -> Tensor:
        everything = [*self._single, *self._multiple]
        for _ in range(_ATTEMPTS):
            name = self._coverage.choose_layer(self._rng, everything, ())
            if layer(name).arity[0] == 1:
                added = self._try_single(name, source)
            else:
                others = [self._new_input(self._first_shape) for _ in range(layer(name).arity[0] - 1)]
                added = self._try_several(name, [source, *others])
            if added is not None:
                return added
        return self._fallback(source)

    def _single_input(self, source: Tensor, reducing: bool) -> Tensor:
        known = self._net.reusable(source) if self._settings.varied else []
        if known and self._rng.random() < _SHARED:
            again = self._net.add_again(known[int(self._rng.integers(len(known)))], source)
            if again is not None:
                self._functional.append(again.op)
                return again
        candidates = [name for name in self._single if not reducing or any(part in name for part in _REDUCING)]
        for _ in range(_ATTEMPTS):
            name = self._coverage.choose_layer(
                self._rng, candidates or self._single, [source.op], len(source.shape) + 1
            )
            added = self._try_single(name, source)
            if added is not None:
                return added
        return self._fallback(source)

    def _several_inputs(self, sources: Sequence[Tensor]) -> Tensor:
        count = len(sources)
        fitting = [name for name in self._multiple if (layer(name).arity[1] or count) >= count]
        for _ in range(_ATTEMPTS if fitting else 0):
            name = self._coverage.choose_layer(self._rng, fitting, [source.op for source in sources])
            added = self._try_several(name, sources)
            if added is not None:
                return added
        shape = sources[0].shape
        return self._net.add("Add", [self._net.bring(source, shape) for source in sources], {}) or sources[0]

    def _try_single(self, name: str, source: Tensor) -> Tensor | None:
        spec = layer(name)
        for _ in range(_FITTINGS):
            chosen = self._choose(spec)
            if chosen is None:
                continue
            params, call_params = chosen
            domain = spec.domain(spec.complete({**params, **call_params}))
            if _reads_integers(domain):
                return self._beside(spec, params, call_params, [source], domain)
            if spec.masked is not None and self._settings.varied and self._rng.random() < _MASKED:
                return self._behind_mask(spec, params, call_params, source)
            before = self._net.mark()
            given = self._fit(spec, source)
            params = self._filling(spec, params, given)
            refused = self._refuses(spec, params, len(given.shape) + 1)
            added = None if refused else self._net.add(name, [given], params, call_params)
            if added is not None:
                self._count(spec, params, call_params, [source.op])
                return added
            self._net.restore(before)
        return None

    def _beside(
        self,
        spec: LayerSpec,
        params: dict[str, Json],
        call_params: dict[str, Json],
        sources: Sequence[Tensor],
        domain: Domain,
    ) -> Tensor | None:
        """A layer that reads integers gets inputs of its own, and its output joins the network by a merge."""
        ranks = [rank for rank in spec.ranks if rank in (2, 3)]
        rank = int(self._rng.choice(ranks))
        if self._refuses(spec, params, rank):
            return None
        before = self._net.mark()
        shape = draw_shape(self._rng, rank) if spec.arity[0] == 1 else (1,)
        fresh = [self._new_input(shape, domain) for _ in range(spec.arity[0])]
        added = self._net.add(spec.name, fresh, params, call_params)
        if added is None or not added.shape:
            self._net.restore(before)
            return None
        self._count(spec, params, call_params, [tensor.op for tensor in fresh])
        joined = [self._net.bring(source, added.shape) for source in sources]
        return self._net.add("Add", [*joined, added], {}) or added

    def _behind_mask(
        self, spec: LayerSpec, params: dict[str, Json], call_params: dict[str, Json], source: Tensor
    ) -> Tensor | None:
        """A layer that reads a mask, on an input of its own that has one; its output joins the network by a merge."""
        ranks = [rank for rank in spec.ranks if rank in SHAPES and rank > 2]
        rank = int(self._rng.choice(ranks))
        if self._refuses(spec, params, rank):
            return None
        before = self._net.mark()
        masking = layer("Masking")
        given = self._coverage.choose_params(self._rng, masking, masking.parameters)
        masked = masked_sequence(self._net, self._rng, draw_shape(self._rng, rank), self._style, given)
        added = self._net.add(spec.name, [masked], params, call_params) if masked is not None else None
        if added is None or not added.shape or masked is None:
            self._net.restore(before)
            return None
        if "Masking" in self._coverage.names:
            self._coverage.use(masking, given, ["Input"])
        self._count(spec, params, call_params, [masked.op])
        return self._net.add("Add", [self._net.bring(source, added.shape), added], {}) or added

    def _fit(self, spec: LayerSpec, source: Tensor) -> Tensor:
        """The source, or what reshaping makes of it where its rank is not one of the layer's."""
        rank = len(source.shape) + 1
        if rank in spec.ranks and self._rng.random() < _AS_IT_IS:
            return source
        rank = int(self._rng.choice([other for other in spec.ranks if 2 <= other <= 6]))
        exact = factorized(self._rng, source.elements, rank) if self._rng.random() < _RESHAPED_ONLY else None
        return self._net.bring(source, exact or draw_shape(self._rng, rank))

    def _try_several(self, name: str, sources: Sequence[Tensor]) -> Tensor | None:
        """Lines 26 to 28: all inputs are brought to one random shape, then merged."""
        spec = layer(name)
        least, most = spec.arity
        if most is not None and len(sources) > most:
            return None
        for _ in range(_FITTINGS):
            chosen = self._choose(spec)
            if chosen is None:
                continue
            domain = spec.domain(spec.complete({**chosen[0], **chosen[1]}))
            if _reads_integers(domain):
                return self._beside(spec, *chosen, sources, domain)
            shape = self._common_shape(spec, sources)
            before = self._net.mark()
            given = [self._net.bring(source, shape) for source in sources]
            given = self._masked_values(spec, given)
            added = self._net.add(name, given, *chosen)
            if added is not None:
                self._count(spec, *chosen, [source.op for source in sources])
                return added
            self._net.restore(before)
        return None

    def _masked_values(self, spec: LayerSpec, given: list[Tensor]) -> list[Tensor]:
        """Attention, at times on values of which some are hidden."""
        shape = given[1].shape
        if spec.masked is None or not self._settings.varied or len(shape) != 2 or self._rng.random() >= _MASKED:
            return given
        masked = masked_sequence(self._net, self._rng, shape, self._style, {})
        return given if masked is None or masked.shape != shape else [given[0], masked, *given[2:]]

    def _common_shape(self, spec: LayerSpec, sources: Sequence[Tensor]) -> tuple[int, ...]:
        """A random shape; steered, half of the time that of one of the inputs, which then needs no reshaping."""
        fitting = [source.shape for source in sources if len(source.shape) + 1 in spec.ranks and source.elements <= 256]
        if self._settings.steered and fitting and self._rng.random() < 0.5:
            return fitting[int(self._rng.integers(len(fitting)))]
        return draw_shape(self._rng, int(self._rng.choice(spec.ranks)))

    def _choose(self, spec: LayerSpec) -> tuple[dict[str, Json], dict[str, Json]] | None:
        """Parameters of the constructor and of the call; None where this network cannot have them."""
        params = self._coverage.choose_params(self._rng, spec, spec.parameters)
        call_params = self._coverage.choose_params(self._rng, spec, spec.call_parameters)
        if self._training and (spec.name in _INFERENCE_ONLY or spec.draws(spec.complete(params))):
            return None  # random numbers differ by library, and nothing could be compared
        return params, call_params

    def _refuses(self, spec: LayerSpec, params: dict[str, Json], rank: int) -> bool:
        """What costs a network votes is drawn, but rarely."""
        complete = spec.complete(params)
        if ambiguous(spec.name, complete):
            return True
        if hopeless(spec.name, complete, rank):
            return bool(self._rng.random() > _HOPELESS)
        lacks = lacking(spec.name, complete, rank) or lacking_in(spec.name, self._policy)
        return bool(lacks) and not self._exotic

    def _count(
        self, spec: LayerSpec, params: dict[str, Json], call_params: dict[str, Json], before: Sequence[str]
    ) -> None:
        self._functional.append(spec.name)
        self._coverage.use(spec, {**params, **call_params}, before)

    def _fallback(self, source: Tensor) -> Tensor:
        return self._net.add("Activation", [source], {"activation": "tanh"}) or source

    # Lines 30 to 32

    def _finish(self, structure: Structure, tensors: Sequence[Tensor]) -> Network:
        rng, settings = self._rng, self._settings
        task = draw_task(rng, self._data)
        ends = [tensors[-1]]
        if settings.varied and not settings.unit and len(tensors) > 3 and rng.random() < _MORE_OUTPUTS:
            ends.append(tensors[int(rng.integers(1, len(tensors) - 1))])
        outputs = [task.head(self._net, end, rng) for end in ends]
        graph = self._net.graph(outputs, f"muffin-{self._number}")
        labels = {output.ref.node: task.labels(rng, self._net.batch, self._labels) for output in outputs}
        goal = furthest(self._policy, settings.goal)
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
            self._net.inputs,
            labels,
            self._net.weights,
            seed=int(rng.integers(2**31)),
        )
        return Network(case, self._data.name, structure.template, tuple(self._functional))


def _reads_integers(domain: Domain) -> bool:
    return domain.low is not None and domain.dtype.startswith("int")
