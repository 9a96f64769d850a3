"""What is computed by a reference and by its sources: uses of layers, losses and optimizers, drawn from a seed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tensorparity.core.arrays import Array
from tensorparity.operators.catalogue import layer
from tensorparity.operators.losses.catalogue import LOSSES
from tensorparity.operators.losses.spec import REDUCTION, LossSpec
from tensorparity.operators.optimizers.catalogue import OPTIMIZERS
from tensorparity.operators.reference.rounding import growth
from tensorparity.operators.spec import Evaluation, Parameter, Params

from .measure import Arrays, Reference


@dataclass(frozen=True)
class Case:
    """One use: what a source is told of it, and the reference as a function of the arrays.

    Args:
        kind: ``layer``, ``loss`` or ``optimizer``.
        told: parameters and names, as JSON.
        arrays: inputs, weights and cotangents by name.
        moved: the arrays that gradients are taken of.
        relative: they move by a part of their distance to 0 and 1, where probabilities end.
    """

    key: str
    kind: str
    name: str
    told: dict[str, Any]
    arrays: dict[str, Array]
    reference: Reference
    moved: tuple[str, ...] = ()
    relative: bool = False
    cotangents: tuple[Array, ...] = field(default=())

    def document(self) -> dict[str, Any]:
        named = {"key": self.key, "kind": self.kind, "op": self.name, "moved": list(self.moved)}
        return {**named, **self.told, "arrays": [*self.arrays, *self._given()]}

    def given(self) -> dict[str, Array]:
        return {**self.arrays, **self._given()}

    def _given(self) -> dict[str, Array]:
        return {f"cotangent/{index}": array for index, array in enumerate(self.cotangents)}

    def about(self) -> str:
        shapes = [array.shape for name, array in self.arrays.items() if name.startswith("input/")]
        return f"{self.key} {self.told['params']} {shapes}"


def seeded(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


#: Layers inside of which another layer is a parameter.
_WRAPPERS = ("TimeDistributed", "SpectralNormalization")


def layer_cases(name: str, draws: int, draw_example: Callable[..., Any]) -> Iterator[Case]:
    """Uses of one layer; where training has a formula of its own, every other one is of it."""
    rng, spec = seeded(name), layer(name)
    if name == "Activation":
        yield from _activation_cases(draws, draw_example, rng)
        return
    for index in range(draws):
        example = draw_example(name, rng)
        training = spec.training is not None and index % 2 == 1
        yield _layer_case(f"{name}-{index}", example, training, rng)


def _activation_cases(draws: int, draw_example: Callable[..., Any], rng: np.random.Generator) -> Iterator[Case]:
    """Every function by its name: whether one is looked at is not left to luck."""
    for index, named in enumerate(layer("Activation").parameters[0].valid * max(1, draws // 10)):
        example = draw_example("Activation", rng)
        node = replace(example.node, params={"activation": named})
        yield _layer_case(f"Activation-{index}", replace(example, node=node), False, rng)


def _layer_case(key: str, example: Any, training: bool, rng: np.random.Generator) -> Case:
    spec = layer(example.node.op)
    inputs = {f"input/{index}": x if x.dtype.kind == "i" else _wide(x) for index, x in enumerate(example.inputs)}
    weights = {f"weight/{name.partition('/')[2]}": _wide(w) for name, w in example.weights.items()}
    params = {**example.params, "training": training}
    if spec.name in _WRAPPERS:
        kind = params["layer"]["class_name"]
        params["defaults"] = {kind: layer(kind).defaults()}
    formula = spec.training if training and spec.training is not None else spec.reference
    # at the point of the derivative, what no gradient flows through
    named = {name.removeprefix("weight/"): array for name, array in weights.items()}
    held = spec.held(example.params, list(inputs.values()), named) if training and spec.held is not None else {}

    def reference(arrays: Arrays) -> Sequence[Evaluation]:
        taken = [arrays[name] if arrays[name].dtype.kind == "f" else _wide(arrays[name]) for name in inputs]
        with np.errstate(all="ignore"):
            own = {name.removeprefix("weight/"): arrays[name] for name in weights}
            return formula(example.params, taken, {**own, **held})

    arrays = {**inputs, **weights}
    smooth = () if spec.discontinuous else tuple(name for name in inputs if arrays[name].dtype.kind == "f")
    declared = spec.weights(example.params, example.shapes)
    trained = tuple(name for name in weights if declared[name.removeprefix("weight/")].trainable)
    cotangents = tuple(rng.normal(size=found.value.shape) for found in reference(arrays))
    told = {"params": params, "inputs": list(inputs)}
    return Case(key, "layer", spec.name, told, arrays, reference, (*smooth, *trained), cotangents=cotangents)


def loss_cases(name: str, draws: int) -> Iterator[Case]:
    """Labels and predictions of the kinds that the loss asks for."""
    rng, spec = seeded(name), LOSSES[name]
    for index in range(draws):
        # Every source takes the mean: a sum is the same times their number, and is followed by hand
        # (test_structured.py::test_sums_along_an_axis_and_over_samples).
        params = {REDUCTION.name: REDUCTION.default, **_drawn(spec.parameters, rng)}
        shape = (int(rng.integers(1, 7)), int(rng.integers(2, 7)))
        labels, guess = _labels(spec, shape, rng), _predictions(spec, params, shape, rng)

        def reference(arrays: Arrays, params: Params = params) -> Sequence[Evaluation]:
            return (_loss_value(spec, params, arrays["input/0"], arrays["input/1"]),)

        arrays = {"input/0": labels, "input/1": guess}
        told = {"params": params, "inputs": list(arrays)}
        relative = spec.predictions not in ("values", "unit") and not params.get("from_logits")
        yield Case(f"{name}-{index}", "loss", name, told, arrays, reference, ("input/1",), relative, (np.ones(()),))


def _loss_value(spec: LossSpec, params: Params, labels: Array, guess: Array) -> Evaluation:
    """``LossSpec.value`` without its cast to float64, which would cost the differences their digits."""
    with np.errstate(all="ignore"):
        each = spec.per_sample(params, labels if spec.sparse else _float(labels), guess)
    terms = each.kappa + growth(np.size(each.value)) * np.abs(each.value)
    return Evaluation(np.asarray(np.mean(each.value)), np.asarray(np.mean(terms)))


def _float(array: Array) -> Array:
    return array if array.dtype.kind == "f" else _wide(array)


def _drawn(parameters: Sequence[Parameter], rng: np.random.Generator) -> dict[str, Any]:
    return {parameter.name: parameter.valid[rng.integers(len(parameter.valid))] for parameter in parameters}


def _labels(spec: LossSpec, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    if spec.labels == "sequences":
        return _sequences(shape, rng)
    # Few classes where samples of the same one are compared: most have another, and most are not all of one.
    classes = rng.integers(0, 2 if spec.predictions == "unit" else shape[1], shape[0])
    if spec.labels == "classes":
        return classes if spec.sparse else np.eye(shape[1])[classes]
    if spec.labels == "binary":
        return rng.integers(0, 2, shape).astype(np.float64)
    if spec.labels == "distribution":
        return _single(rng.dirichlet(np.ones(shape[1]), shape[0]))
    return _single(rng.uniform(0.1, 3.0, shape) if spec.labels == "positive" else rng.normal(0, 2, shape))


#: Steps of the predictions that a sequence is read from: enough for three symbols with blanks between.
_FRAMES = 7


def _sequences(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """One to three symbols, filled up with the blank."""
    found = rng.integers(1, shape[1], (shape[0], 3))
    return np.where(np.arange(3) < rng.integers(1, 4, (shape[0], 1)), found, 0)


def _predictions(spec: LossSpec, params: Params, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    if spec.labels == "sequences":
        return _single(rng.normal(0, 3, (shape[0], _FRAMES, shape[1])))
    if spec.predictions == "unit":
        drawn = rng.normal(size=shape)
        return _single(drawn / np.linalg.norm(drawn, axis=-1, keepdims=True))
    if spec.predictions == "values" or params.get("from_logits"):
        return _single(rng.normal(0, 3, shape))
    if spec.predictions == "probabilities":
        return _single(rng.dirichlet(np.ones(shape[1]), shape[0]))
    return _single(rng.uniform(0.01, 0.99, shape) if spec.predictions == "chances" else rng.uniform(0.1, 3.0, shape))


def _single(array: Array) -> Array:
    """In float64, with float32's digits: a sum with a dyadic step is then exact."""
    return array.astype(np.float32).astype(np.float64)


STEPS = 3


#: What a source does in another way than Keras documents it, and where it makes no difference.
_HELD: dict[str, dict[str, Any]] = {
    "Adafactor": {"epsilon_1": 1e-30},  # torch bounds the product of the means by it, Keras adds it to the squares
}


def optimizer_cases(name: str, draws: int) -> Iterator[Case]:
    """A weight and the gradients of a few steps.

    Only an optimizer's own parameters are drawn: what all of them take (clipping, averages, schedules ...) is done
    before or after the step, by the same few lines for all, which test_more_optimizers_by_hand.py follows.
    """
    rng, spec = seeded(name), OPTIMIZERS[name]
    for index in range(draws):
        params = {**_drawn(spec.parameters, rng), **_HELD.get(name, {})}

        def reference(arrays: Arrays, params: Params = params) -> Sequence[Evaluation]:
            weight, state, found = arrays["input/0"], None, []
            for number in range(1, STEPS + 1):
                step = spec.step(params, weight, arrays["input/1"][number - 1], state, number)
                weight, state = step.weight.value, step.state
                found.append(step.weight)
            return found

        arrays = {"input/0": rng.normal(size=(4, 3)), "input/1": rng.normal(size=(STEPS, 4, 3))}
        told = {"params": {**params, **_inside(params)}, "inputs": list(arrays)}
        yield Case(f"{name}-{index}", "optimizer", name, told, arrays, reference)


def _inside(params: Params) -> dict[str, Any]:
    """The complete parameters of an optimizer inside of another."""
    if "inner_optimizer" not in params:
        return {}
    recipe = params["inner_optimizer"]
    return {"inside": OPTIMIZERS[recipe["class_name"]].complete(recipe["config"])}


def _wide(array: Array) -> Array:
    return np.asarray(array, dtype=np.float64)
