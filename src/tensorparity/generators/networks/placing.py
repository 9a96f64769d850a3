"""Placing one layer after another in a network: parameters, an input that fits, whether anybody can run it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.jsontext import Json
from ...core.policies import PLAIN, Policy
from ...operators.catalogue import layer
from ...operators.spec import Domain, LayerSpec, no_weights
from .assembly import Assembly, NetworkTensor
from .coverage import NetworkCoverage, Use
from .masked import masked_sequence
from .merges import merged_shapes
from .palettes import SHAPES, draw_edge_shape, draw_shape, draw_values, factorized_shape
from .settings import NetworkSettings
from .support import hopeless, hopeless_behind_mask, why_unsupported

_FITTINGS = 6
#: How often what no target has is taken all the same: while the layer has never been used, and later.
_HOPELESS, _HOPELESS_AGAIN = 0.02, 0.00025
#: How often a layer that reads a mask has one.
_MASKED = 0.3
#: How often a layer that may read more inputs, of another kind, does not.
_PLAIN = 0.5
#: How often a window is as large as what it slides over.
_FILLS = 0.15
#: How often a layer gets its input as it is, where the rank fits; and reshaped without cropping, where it does not.
_AS_IT_IS, _RESHAPED_ONLY = 0.95, 0.8


#: How often inputs are merged in the shape of one of them, and else in one of as many elements; of small ones only.
_SHAPE_OF_ONE, _ELEMENTS_OF_ONE, _SMALL = 0.6, 0.9, 256


#: Arguments that name a function.
_FUNCTIONS = ("activation", "recurrent_activation")


class Placer:
    """Adds layers to a network, and remembers which.

    Args:
        net: what they are added to.
        style: how values of further inputs are drawn.
        exotic: whether the network may have what some target lacks.
        first_shape: of the network's first input.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        settings: NetworkSettings,
        coverage: NetworkCoverage,
        policy: Policy,
        net: Assembly,
        style: str,
        *,
        training: bool,
        exotic: bool,
        first_shape: tuple[int, ...],
    ) -> None:
        self._rng = rng
        self._settings = settings
        self._coverage = coverage
        self._policy = policy
        self._training = training
        self._exotic = exotic
        self._first_shape = first_shape
        self.net = net
        self.style = style
        #: The functional layers and what of them is covered, each with its node.
        self.functional: list[tuple[str, str]] = []
        self.uses: list[tuple[str, Use]] = []

    def new_input(self, shape: tuple[int, ...], domain: Domain | None = None) -> NetworkTensor:
        full = (self.net.batch, *shape)
        dtype = "float64" if self._policy.compute == "float64" else "float32"
        return self.net.input(draw_values(self._rng, full, domain or Domain(), self.style, dtype))

    def with_others(self, source: NetworkTensor, count: int) -> list[NetworkTensor]:
        """Inputs for a layer that reads several where there is one: new ones, or in the paper's way the same again."""
        if not self._settings.varied:
            return [source] * count
        return [source, *(self.new_input(self._first_shape) for _ in range(count - 1))]

    def single(self, name: str, source: NetworkTensor, *, reducing: bool = False) -> NetworkTensor | None:
        spec = layer(name)
        for _ in range(_FITTINGS):
            chosen = self._choose(spec)
            if chosen is None:
                continue
            params, call_params = chosen
            domain = spec.domain(spec.complete({**params, **call_params}))
            if _reads_integers(domain):
                return self._beside(spec, params, call_params, [source], domain)
            if spec.masked is not None and not reducing and self._masks():
                return self._behind_mask(spec, params, call_params, source)
            before = self.net.mark()
            given = self._fit(spec, source)
            params = self._with_full_window(spec, params, given)
            refused = self._refuses(spec, params, len(given.shape) + 1, given.shape)
            added = None if refused else self.net.add(name, [given], params, call_params)
            most = min(source.elements, given.elements) - 1 if reducing else None
            if added is not None and (most is None or added.elements <= most):
                self._count(spec, params, call_params, [source.op])
                return added
            self.net.restore(before)
        return None

    def several(self, name: str, sources: Sequence[NetworkTensor]) -> NetworkTensor | None:
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
            if self._refuses(spec, {**chosen[0], **chosen[1]}, len(shape) + 1, shape):
                continue
            before = self.net.mark()
            shapes = self._merged_shapes(spec, chosen, shape, len(sources))
            given = [self.net.bring(source, own) for source, own in zip(sources, shapes, strict=True)]
            given = self._masked_values(spec, given)
            added = self.net.add(name, given, *chosen)
            if added is not None:
                self._count(spec, *chosen, [source.op for source in sources])
                return added
            self.net.restore(before)
        return None

    def _merged_shapes(
        self, spec: LayerSpec, chosen: tuple[dict[str, Json], dict[str, Json]], shape: tuple[int, ...], count: int
    ) -> list[tuple[int, ...]]:
        if not self._settings.varied:
            return [shape] * count
        return merged_shapes(self._rng, spec.name, spec.complete({**chosen[0], **chosen[1]}), shape, count)

    def branch(self, names: Sequence[str]) -> NetworkTensor | None:
        """One of these layers on inputs of its own; None where nothing was found that takes any."""
        for _ in range(_FITTINGS):
            spec = layer(self._coverage.choose_edge(self._rng, names, self.style))
            chosen = self._choose(spec)
            ranks = [rank for rank in spec.ranks if rank in SHAPES]
            if chosen is None or not ranks or spec.domain(spec.complete({**chosen[0], **chosen[1]})).low is not None:
                continue
            params, call_params = chosen
            if spec.weights is not no_weights:  # what functions make of NaN is asked of those alone
                params = {name: value for name, value in params.items() if name not in _FUNCTIONS}
            before = self.net.mark()
            shape = draw_edge_shape(self._rng, int(self._rng.choice(ranks)), self.style)
            fresh = [self.new_input(own) for own in self._merged_shapes(spec, chosen, shape, spec.arity[0])]
            params = self._with_full_window(spec, params, fresh[0])
            refused = self._refuses(spec, params, len(shape) + 1, shape)
            added = None if refused else self.net.add(spec.name, fresh, params, call_params)
            if added is not None and added.shape:
                self._count(spec, params, call_params, [one.op for one in fresh])
                self._coverage.edges[self.style, spec.name] += 1
                return added
            self.net.restore(before)
        return None

    def fallback(self, source: NetworkTensor) -> NetworkTensor:
        return self.net.add("Activation", [source], {"activation": "tanh"}) or source

    def _beside(
        self,
        spec: LayerSpec,
        params: dict[str, Json],
        call_params: dict[str, Json],
        sources: Sequence[NetworkTensor],
        domain: Domain,
    ) -> NetworkTensor | None:
        """A layer that reads integers gets inputs of its own, and its output joins the network by a merge."""
        ranks = [rank for rank in spec.ranks if rank in (2, 3)]
        rank = int(self._rng.choice(ranks))
        if self._refuses(spec, params, rank):
            return None
        before = self.net.mark()
        shape = draw_shape(self._rng, rank) if spec.arity[0] == 1 else (1,)
        fresh = [self.new_input(shape, domain) for _ in range(spec.arity[0])]
        added = self._with_further(spec, fresh, params, call_params) or self.net.add(
            spec.name, fresh, params, call_params
        )
        if added is None or not added.shape:
            self.net.restore(before)
            return None
        self._count(spec, params, call_params, [tensor.op for tensor in fresh])
        if self._settings.unit:
            return added
        joined = [self.net.bring(source, added.shape) for source in sources]
        return self.net.add("Add", [*joined, added], {}) or added

    def _with_further(
        self, spec: LayerSpec, fresh: list[NetworkTensor], params: dict[str, Json], call_params: dict[str, Json]
    ) -> NetworkTensor | None:
        """Half of the time, the layer on inputs of another kind besides; None where it has or takes none."""
        if not spec.further or self._rng.random() < _PLAIN:
            return None
        before = self.net.mark()
        more = [self.new_input(fresh[0].shape, domain) for domain in spec.further.values()]
        added = self.net.add(spec.name, [*fresh, *more], params, call_params)
        if added is None:
            self.net.restore(before)
        return added

    def _behind_mask(
        self, spec: LayerSpec, params: dict[str, Json], call_params: dict[str, Json], source: NetworkTensor
    ) -> NetworkTensor | None:
        """A layer that reads a mask, on an input of its own that has one; its output joins the network by a merge."""
        ranks = [rank for rank in spec.ranks if rank in SHAPES and rank > 2]
        rank = int(self._rng.choice(ranks))
        doomed = bool(hopeless_behind_mask(spec.name, rank)) and not self._dares(spec)
        if doomed or self._refuses(spec, params, rank):
            return None
        before = self.net.mark()
        masking = layer("Masking")
        given = self._coverage.choose_params(self._rng, masking, masking.parameters)
        masked = masked_sequence(self.net, self._rng, draw_shape(self._rng, rank), self.style, given)
        added = self.net.add(spec.name, [masked], params, call_params) if masked is not None else None
        if added is None or not added.shape or masked is None:
            self.net.restore(before)
            return None
        new = {node.op for node in self.net.nodes[before[1] :]}
        if "Masking" in new & set(self._coverage.names):  # an Embedding masks as well
            self.uses.append((self.net.last("Masking"), self._coverage.use(masking, given, ["Input"])))
        self._count(spec, params, call_params, [masked.op])
        return self.net.add("Add", [self.net.bring(source, added.shape), added], {}) or added

    def _masks(self) -> bool:
        free = self._settings.varied and not self._settings.unit
        return free and bool(self._rng.random() < _MASKED)

    def _masked_values(self, spec: LayerSpec, given: list[NetworkTensor]) -> list[NetworkTensor]:
        """Attention, at times on values of which some are hidden."""
        shape = given[1].shape
        if spec.masked is None or len(shape) != 2 or not self._masks():
            return given
        masked = masked_sequence(self.net, self._rng, shape, self.style, {})
        return given if masked is None or masked.shape != shape else [given[0], masked, *given[2:]]

    def _fit(self, spec: LayerSpec, source: NetworkTensor) -> NetworkTensor:
        """The source, or what reshaping makes of it where its rank is not one of the layer's."""
        rank = len(source.shape) + 1
        if rank in spec.ranks and self._rng.random() < _AS_IT_IS:
            return source
        rank = int(self._rng.choice([other for other in spec.ranks if 2 <= other <= 6]))
        exact = factorized_shape(self._rng, source.elements, rank) if self._rng.random() < _RESHAPED_ONLY else None
        return self.net.bring(source, exact or draw_shape(self._rng, rank))

    def _with_full_window(self, spec: LayerSpec, params: dict[str, Json], given: NetworkTensor) -> dict[str, Json]:
        """The parameters, at times with a window over the whole of the input."""
        name = next((p.name for p in spec.parameters if p.name in ("pool_size", "kernel_size")), None)
        able = self._settings.varied and name is not None and len(given.shape) > 1
        if not able or name is None or self._rng.random() >= _FILLS:
            return params
        first = spec.complete(params).get("data_format") == "channels_first"
        sizes = list(given.shape[1:] if first else given.shape[:-1])
        return {**params, name: sizes if len(sizes) > 1 else sizes[0]}

    def _common_shape(self, spec: LayerSpec, sources: Sequence[NetworkTensor]) -> tuple[int, ...]:
        """A random shape; steered, mostly that of one of the inputs, or of as many elements: less has to be fitted."""
        drawn, rank = self._rng.random(), int(self._rng.choice(spec.ranks))
        small = [source for source in sources if 0 < source.elements <= _SMALL]
        fitting = [source.shape for source in small if len(source.shape) + 1 in spec.ranks]
        if self._settings.steered and fitting and drawn < _SHAPE_OF_ONE:
            return fitting[int(self._rng.integers(len(fitting)))]
        if self._settings.steered and small and drawn < _ELEMENTS_OF_ONE:
            one = small[int(self._rng.integers(len(small)))]
            return factorized_shape(self._rng, one.elements, rank) or draw_shape(self._rng, rank)
        return draw_shape(self._rng, rank)

    def _choose(self, spec: LayerSpec) -> tuple[dict[str, Json], dict[str, Json]] | None:
        """Parameters of the constructor and of the call; None where this network cannot have them."""
        rare = self._settings.varied and self._policy.name == PLAIN.name  # in others penalties are not judged
        parameters = [parameter for parameter in spec.parameters if rare or not parameter.rare]
        params = self._coverage.choose_params(self._rng, spec, parameters)
        call_params = self._coverage.choose_params(self._rng, spec, spec.call_parameters)
        if self._training and ("training" not in spec.stages or spec.draws(spec.complete(params))):
            return None  # random numbers differ by library, and nothing could be compared
        return params, call_params

    def _refuses(self, spec: LayerSpec, params: dict[str, Json], rank: int, shape: Sequence[int] = ()) -> bool:
        """What costs a network votes is drawn, but rarely."""
        complete = spec.complete(params)
        if spec.unsaid(complete):
            return True
        if self._settings.varied and hopeless(spec.name, complete, rank, shape[-1] if shape else None):
            return not self._dares(spec)
        lacks = bool(why_unsupported(spec.name, complete, rank)) or self._policy.compute not in spec.dtypes
        return lacks and not self._exotic

    def _dares(self, spec: LayerSpec) -> bool:
        """Whether to have a layer in a way that no target runs; it costs the whole network."""
        return bool(self._rng.random() < (_HOPELESS_AGAIN if self._coverage.layers[spec.name] else _HOPELESS))

    def _count(
        self, spec: LayerSpec, params: dict[str, Json], call_params: dict[str, Json], before: Sequence[str]
    ) -> None:
        node = self.net.last(spec.name)
        self.functional.append((node, spec.name))
        self.uses.append((node, self._coverage.use(spec, {**params, **call_params}, before)))


def _reads_integers(domain: Domain) -> bool:
    return domain.low is not None and domain.dtype.startswith("int")
