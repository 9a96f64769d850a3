"""Layers alone, pulled back where they bend: at ties, zeros, thresholds.

What flows through a network is seldom the same number twice, so a gradient that goes to the wrong one of two maxima, or
to both, shows in one network of a hundred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from ...core.arrays import Array, dtype_name, is_floating
from ...core.case import Case
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph, Node
from ...core.policies import PLAIN
from ...core.procedure import Goal, Mode, Procedure
from ...operators.catalogue import layer, layer_names
from ...operators.reference.directional import one_sided, scales
from ...operators.reference.evaluate import evaluate_node
from ...operators.spec import ShapeError
from ...oracles.masked_inputs import alone
from ...oracles.measure.backward import pulled_back
from ...oracles.measure.discontinuity import is_discontinuous
from ...oracles.screening import true_inputs
from ..networks.networks import NetworkGenerator, NetworkSettings

#: Few, so that they meet each other: zero most often, and where activations are cut off.
_VALUES = (0.0, 0.0, 1.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 6.0)
#: Zeros of both signs, where quotients and powers have their limits, and where exponentials vanish.
_SPECIAL = (0.0, 0.0, -0.0, 1.0, -1.0, 20.0, -20.0)
_EVERY = 4
#: Networks that a layer is looked for in at its turn, and turns that it may miss: then it does not bend.
_ATTEMPTS, _TRIES = 3, 2
#: One-sided slopes that differ by less than this share are one.
_SHARE = 1e-6
_MOST_NUMBERS = 5_000


def subgradient_cases(seed: int, layers: Sequence[str] = ()) -> Iterator[Case]:
    """All layers that bend somewhere, in turn, with other values each time: as users have them, then with parameters.

    The n-th case depends on seed, layers and n alone. Where no layer bends, there is none.
    """
    names = layers or tuple(layer_names())
    generators = {name: NetworkGenerator(seed, _settings(name)) for name in names}
    rng = np.random.default_rng([seed, 0xBE4D])
    missed = dict.fromkeys(names, 0)
    turn = 0
    while waiting := [name for name in names if missed[name] < _TRIES]:
        turn += 1
        for name in waiting:
            drawn = (_case(generators[name], name, rng, plain=turn % 2 == 1) for _ in range(_ATTEMPTS))
            case = next(filter(None, drawn), None)
            if case is None:
                missed[name] += 1
            else:
                missed[name] = 0
                yield case


def smooth_cases(seed: int, layers: Sequence[str] = ()) -> Iterator[Case]:
    """All layers with a derivative, in turn, at points where formulas are special and the function is not.

    At 0, at 1 and far out a smooth function has one gradient, which branches, guards and quotients may miss.
    """
    names = layers or tuple(layer_names())
    generators = {name: NetworkGenerator(seed, _settings(name)) for name in names}
    rng = np.random.default_rng([seed, 0x5007])
    missed = dict.fromkeys(names, 0)
    while waiting := [name for name in names if missed[name] < _TRIES]:
        for name in waiting:
            case = _case(generators[name], name, rng, plain=bool(rng.random() < 0.5), smooth=True)
            missed[name] = missed[name] + 1 if case is None else 0
            if case is not None:
                yield case


def pulled_back_cases(seed: int, layers: Sequence[str] = ()) -> Iterator[Case]:
    """Kinks, and every fourth case at a special point of a smooth function."""
    kinks, smooth = subgradient_cases(seed, layers), smooth_cases(seed, layers)
    while few := [*islice(kinks, _EVERY - 1), *islice(smooth, 1)]:
        yield from few


def _settings(name: str) -> NetworkSettings:
    return NetworkSettings(layers=(name,), unit=True, policies=(PLAIN.name,), goal=Goal.FORWARD, training=False)


def _case(
    generator: NetworkGenerator, name: str, rng: np.random.Generator, *, plain: bool, smooth: bool = False
) -> Case | None:
    """The layer of one network at ties; None where it has no ties there, or no derivative either.

    Args:
        plain: with nothing but what it cannot do without.
        smooth: at special points where it has one gradient.
    """
    network = generator.next().case
    assert isinstance(network.subject, LayerGraph)
    node = next((node for node in network.subject.nodes if node.op == name), None)
    given = true_inputs(network, node.key) if node is not None else None
    if node is None or given is None or is_discontinuous(node):
        return None
    if plain:
        required = {parameter.name for parameter in layer(name).parameters if parameter.required}
        node = replace(node, params={key: value for key, value in node.params.items() if key in required})
    if not any(is_floating(dtype_name(array)) for array in given):
        return None
    try:
        values = _SPECIAL if smooth else _VALUES
        case = _backward_case(node, [_with_ties(array, rng, values) for array in given], network, rng)
        bends = _bends(case, rng)
        return case if bends is (not smooth) else None
    except (TensorParityError, ShapeError, ValueError, KeyError):
        return None  # values that it does not take


def _with_ties(array: Array, rng: np.random.Generator, values: Sequence[float] = _VALUES) -> Array:
    return rng.choice(values, array.shape).astype(array.dtype) if is_floating(dtype_name(array)) else array


def _backward_case(node: Node, given: Sequence[Array], network: Case, rng: np.random.Generator) -> Case:
    single = alone(node, given, network.weights, network.seed)
    assert isinstance(single.subject, LayerGraph)
    own = single.subject.nodes[-1]
    output = evaluate_node(own, given, single.weights)[0].value
    return replace(
        single,
        procedure=Procedure(goal=Goal.REPLAY, nodes=(own.key,), mode=Mode.EAGER),
        inputs={f"{own.key}/{index}": array for index, array in enumerate(given)},
        cotangents={own.key: rng.choice((1.0, 2.0, -1.0), output.shape).astype(np.float32)},
    )


def _bends(case: Case, rng: np.random.Generator) -> bool | None:
    """Whether the slopes to two opposite sides are not each other's opposites; None where there are none."""
    function = pulled_back(case)
    if function is None:
        return None
    at = [array.astype(np.float64) for array in function.arguments.values()]
    if sum(array.size for array in at) > _MOST_NUMBERS:
        return None
    direction = [scales(array) * rng.uniform(0.5, 1.5, array.shape) for array in at]
    middle = function.terms(at)
    there = one_sided(function.terms, at, direction, middle)
    back = one_sided(function.terms, at, [-along for along in direction], middle)
    if there is None or back is None:
        return None
    return bool(np.abs(there.values + back.values).sum() > _SHARE * (there.size + back.size) + there.noise + back.noise)
