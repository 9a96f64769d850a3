"""Every layer of the catalogue against Keras itself: shapes, weights and values, on three backends."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.graph import Ref
from tensorparity.core.procedure import Recipe
from tensorparity.operators import undeclared
from tensorparity.operators.arguments import channels_first, pair
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.layers.attended import fold_of
from tensorparity.operators.layers.spatial import read_window, spatial_axes
from tensorparity.operators.losses.catalogue import LOSSES
from tensorparity.operators.losses.spec import AXIS, REDUCTION, LossSpec
from tensorparity.operators.masks_and_states import MasksAndStates
from tensorparity.operators.metrics.catalogue import METRICS, metric_case
from tensorparity.operators.optimizers.catalogue import OPTIMIZERS, evaluate_step
from tensorparity.operators.optimizers.options import OPTIONS, Surroundings
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import Parameter, ShapeError, no_masks

#: Uses of each layer: enough to meet a wrong axis or a lost term; a sweep asks for hundreds. JAX compiles every one.
DRAWS = {"torch": 4, "tensorflow": 3, "jax": 1}
ATTEMPTS = 50
#: Of one loss or optimizer; most have far fewer.
MOST_SETTINGS = 64
CHILD = Path(__file__).with_name("keras_child.py")
BACKENDS = [
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("tensorflow", marks=pytest.mark.tensorflow),
    pytest.param("jax", marks=pytest.mark.jax),
]


_CONVOLUTIONS = tuple(f"{kind}{dims}D" for kind in ("Conv", "ConvLSTM") for dims in (1, 2, 3))
_TRANSPOSED = tuple(f"Conv{dims}DTranspose" for dims in (1, 2, 3))


def _keras_defect(example: Any) -> bool:
    """Defects of the code that all backends share, found by this test.

    RMSNormalization multiplies by a scale that it does not reshape, so only last axes work. EinsumDense does not
    infer sizes its documentation says it infers. CategoryEncoding, Hashing and IntegerLookup count along axis 1, not
    the last one. Sparsemax takes the sum of all partial sums for the last of them, so its output is no distribution.
    MultiHeadAttention takes its causal mask and its window along axis 1, whatever axis it attends over.
    """
    op, params, shape = example.node.op, example.params, example.shapes[0]
    if params.get("activation") == "sparsemax":
        return True
    if op == "RMSNormalization":
        return params["axis"] == 1 and len(shape) > 2
    if op == "EinsumDense":
        return params["equation"] == "abc,bc->abc" or _inferred_bias(params)
    if op == "MultiHeadAttention":
        near = params["use_causal_mask"] or params["sliding_window"]
        return bool(near) and fold_of(params, example.shapes).attended != (1,)
    if op in ("CategoryEncoding", "Hashing", "IntegerLookup"):
        return params["output_mode"] not in ("int", "one_hot") and len(shape) > 2
    return False


def _inferred_bias(params: Any) -> bool:
    """A bias along an axis whose size is left to Keras."""
    given = params["output_shape"]
    listed = given if isinstance(given, (list, tuple)) else (given,)
    sizes = dict(zip(params["equation"].partition("->")[2][1:], listed, strict=False))
    return any(sizes.get(axis, 0) is None for axis in params["bias_axes"] or "")


def _tensorflow_lacks(example: Any) -> bool:
    """What TensorFlow does not have, one way to die, and one defect of Keras on it.

    Max pooling with a window wider than its input ends the process on some machines (trophies/).

    Its depthwise kernel has one stride for both axes, its convolution on CPUs one data format and, transposed, no
    dilation. The defect: ``add`` takes an operand of shape (n, 1) for a bias along axis 1 of a tensor whose axis 1 has
    size n, so that heads of size 1 get the bias of another head once there are as many heads as steps.
    """
    op, params = example.node.op, example.params
    if op in _CONVOLUTIONS or op in _TRANSPOSED or op == "STFTSpectrogram":
        return channels_first(params) or (op in _TRANSPOSED and params["dilation_rate"] not in (1, (1, 1), (1, 1, 1)))
    if op in ("DepthwiseConv2D", "SeparableConv2D"):
        strides = pair(params, "strides")
        return strides[0] != strides[1]
    if op.startswith("AdaptiveMaxPooling"):
        size = params["output_size"]
        return (size[-1] if isinstance(size, (list, tuple)) else size) == 1
    if _coarse(example):  # a defect: the kernel is read from a table (trophies/)
        return True
    if op == "MelSpectrogram":  # a defect: windows of odd length are not periodic (trophies/)
        return (params["sequence_length"] or params["fft_length"]) % 2 == 1
    if op == "MultiHeadAttention" and _scores_of_six_axes(example):  # a defect: its softmax aborts (trophies/)
        return True
    if op == "MultiHeadAttention":
        return 1 in (params["key_dim"], params["value_dim"]) and _as_many_steps(example, params["num_heads"])
    if op == "GroupQueryAttention":
        heads = (params["num_query_heads"], params["num_key_value_heads"])
        return params["head_dim"] == 1 and any(_as_many_steps(example, count) for count in heads)
    return False


def _coarse(example: Any) -> bool:
    params = example.params
    blends = example.node.op in ("Resizing", "UpSampling2D")
    return bool(blends and params["interpolation"] == "bicubic" and not params.get("antialias"))


def _scores_of_six_axes(example: Any) -> bool:
    """One axis is attended over, of inputs that have two more beside it."""
    return len(example.shapes[0]) == 5 and len(fold_of(example.params, example.shapes).attended) == 1


def _as_many_steps(example: Any, heads: int) -> bool:
    return any(shape[1] == heads for shape in example.shapes)


def _torch_defect(example: Any) -> bool:
    """Three defects of Keras' torch backend, all found by this test, and an interpolation that torch lacks.

    The histograms of ContrastLimitedAdaptiveHistogramEqualization are integers, and so is their limit: mostly 0. And
    symmetric padding, by which it fills up the last tiles, repeats the last row instead.

    Resizing by cubic splines has another kernel than on the other backends.

    LayerNormalization hands any run of axes to torch's layer_norm, which only knows the last ones.
    AveragePooling divides by the padding too once the padding of one axis is uneven.
    """
    params, op = example.params, example.node.op
    if op == "ContrastLimitedAdaptiveHistogramEqualization":
        return params["clip_limit"] != 256.0 or _padded_tiles(example)  # more than a tile holds
    if op in ("Resizing", "UpSampling2D"):
        return _coarse(example) or params["interpolation"].startswith("lanczos")
    if op == "LayerNormalization":
        return params["axis"] == 1 and len(example.shapes[0]) > 2
    if op in ("AveragePooling1D", "AveragePooling2D", "AveragePooling3D"):
        dims, shape = len(example.shapes[0]) - 2, example.shapes[0]
        window = read_window(params, "pool_size", dilated=False, dims=dims)
        margins = [window.margins(index, shape[axis]) for index, axis in enumerate(spatial_axes(params, dims))]
        return any(before != after for before, after in margins)
    return False


def _padded_tiles(example: Any) -> bool:
    """More than one row or column is missing from the last tiles."""
    params, shape = example.params, example.shapes[0]
    sizes = [shape[axis] for axis in spatial_axes(params, 2)]
    return any(-size % count > 1 for size, count in zip(sizes, pair(params, "tile_grid_size"), strict=True))


def _jax_defect(example: Any) -> bool:
    """MultiHeadAttention raises where heads of values and of keys differ in size, unless it computes the scores."""
    params = example.params
    if example.node.op == "MultiHeadAttention":
        fused = not params["dropout"] and not params["return_attention_scores"]
        return fused and params["value_dim"] not in (None, params["key_dim"])
    return False


#: A defect of Keras: what the layer was made with is lost when it is saved (trophies/).
NOT_IN_THE_CONFIG = {
    "RandomGrayscale": {"seed"},
    "Dense": {"activity_regularizer"},
}  # the latter only where it is given


def _cannot_be_restored(example: Any) -> bool:
    """A defect of Keras: RandomShear writes a range from minus to plus, which it does not read (trophies/)."""
    factors = [example.params.get(name) for name in ("x_factor", "y_factor")]
    return example.node.op == "RandomShear" and any(isinstance(factor, float) and factor for factor in factors)


def _lacks_axis(recipe: Recipe, backend: str) -> bool:
    """TensorFlow says so; on JAX a check of shapes forgets the axis, which is a defect (trophies/)."""
    return backend != "torch" and recipe.name == "SparseCategoricalCrossentropy" and recipe.params.get("axis") == 1


def _metric_defect(recipe: Recipe, backend: str) -> bool:
    """Of all backends and of torch, all in trophies/.

    The adjusted R2 counts outputs as samples. The axis of an IoU is also that of a sum over classes, so that all but
    the last raise. Smoothed labels are divided by the size of the last axis. On torch no k may exceed the number of
    classes.
    """
    if "IoU" in recipe.name:
        return recipe.params.get("axis") == 1
    if recipe.name == "R2Score":
        return bool(recipe.params["num_regressors"])
    if recipe.params.get("label_smoothing") and recipe.params.get("axis") == 1:
        return True
    return backend == "torch" and recipe.params.get("k") == 5 and not recipe.params.get("from_sorted_ids")


def _either(own: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda example: _keras_defect(example) or own(example)


EXCLUDED = {
    "tensorflow": _either(_tensorflow_lacks),
    "torch": _either(_torch_defect),
    "jax": _either(_jax_defect),
}


def _draws(backend: str) -> int:
    return int(os.environ.get("TENSORPARITY_DRAWS", DRAWS[backend]))


def _examples(backend, draw_example, names):
    draws = _draws(backend)
    for name in names:
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        candidates = (draw_example(name, rng) for _ in range(draws * ATTEMPTS))
        fitting = (example for example in candidates if not EXCLUDED[backend](example))
        for index, example in enumerate(itertools.islice(fitting, draws)):
            yield f"{name}-{index}", example


#: Layers whose output is the very tensor they got where nothing is to be done, and with it its mask, on some backends;
#: and random ones of images, of whose steps nobody asks.
_SAME_TENSOR = ("Reshape", "Permute", "Flatten", "SpectralNormalization", "Random")


def _masked_defect(example: Any, backend: str) -> bool:
    """Of unrolled layers, of zeros where no sequence is returned, and of ConvLSTM on JAX (all in trophies/)."""
    params, op = example.params, example.node.op
    unrolled = params.get("unroll") and backend != "torch"
    if params.get("zero_output_for_mask") and (unrolled or not params["return_sequences"]):
        return True
    if params.get("unroll") and params["go_backwards"]:
        return True
    if op == "Bidirectional" and "stateful" in str(params):
        return True
    return backend == "jax" and op.startswith("ConvLSTM")


def _masked_examples(backend, draw_example, names):
    """Layers behind masks that the reference covers, with the masks of their inputs."""
    for name in names:
        rng = np.random.default_rng(zlib.crc32(name.encode()) + 1)
        if name.startswith(_SAME_TENSOR) or not _over_steps(name):
            continue
        found = 0
        for _ in range(ATTEMPTS):
            example = draw_example(name, rng)
            if EXCLUDED[backend](example) or _masked_defect(example, backend) or len(example.shapes[0]) < 3:
                continue
            masks = [_draw_mask(name, index, x, rng) for index, x in enumerate(example.inputs)]
            if _expected(example, masks) is None:
                continue
            yield f"{name}-masked-{found}", (example, masks)
            found += 1
            if found == (1 if backend == "jax" else 2):
                break


def _over_steps(name: str) -> bool:
    spec = layer(name)
    return spec.masked is not None or (spec.masks is not no_masks and not spec.random) or name in _DROPPING


#: Of the layers that drop a mask, some of each kind.
_DROPPING = ("Conv1D", "GlobalMaxPooling1D", "MaxPooling1D", "RMSNormalization")


def _draw_mask(name: str, index: int, x: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    if index == 0 and name in ("MultiHeadAttention", "GroupQueryAttention"):
        return None  # what a hidden query gives is nowhere said
    mask = rng.random(x.shape[:2] if name.startswith("ConvLSTM") else x.shape[:-1]) < 0.6
    mask.reshape(len(mask), -1)[:, 0] = True
    return mask


def _expected(example: Any, masks: list[np.ndarray | None]) -> Any:
    """Outputs and their masks by the reference; None where it does not say."""
    beside = MasksAndStates()
    for ref, mask in zip(example.node.inputs, masks, strict=True):
        if mask is not None:
            beside.put(ref, mask)
    try:
        found = evaluate_node(example.node, example.inputs, example.weights, beside=beside)
    except ShapeError:
        return None
    shown = [beside.mask_of(Ref(example.node.name, index)) for index in range(len(found))]
    return found, shown


def _recipes() -> dict[str, tuple[str, Recipe, tuple[np.ndarray, ...]]]:
    """Losses and optimizers by key: their kind, their parameters and two arrays each."""
    rng = np.random.default_rng(11)
    found: dict[str, tuple[str, Recipe, tuple[np.ndarray, ...]]] = {}
    for name, spec in LOSSES.items():
        for index, params in enumerate(_settings(spec.parameters)):
            found[f"{name}-loss-{index}"] = ("loss", Recipe(name, params), _loss_arrays(spec, params, rng))
        for reduction in ("sum", "mean", "mean_with_sample_weight", None):
            params = {**_settings(spec.parameters)[-1], "reduction": reduction}
            found[f"{name}-loss-{reduction}"] = ("loss", Recipe(name, params), _loss_arrays(spec, params, rng))
    for name, optimizer_spec in OPTIMIZERS.items():
        plain = _settings(optimizer_spec.parameters)
        for index, params in enumerate([*plain, *({**plain[0], **extra} for extra in optimizer_spec.settings())]):
            shape = ((4, 3), (3, 5), (4,))[index % 3]
            weight, gradients = rng.normal(size=shape), rng.normal(size=(3, *shape))
            arrays = (weight.astype(np.float32), gradients.astype(np.float32))
            found[f"{name}-optimizer-{index}"] = ("optimizer", Recipe(name, params), arrays)
    for name, metric_spec in METRICS.items():
        for index, params in enumerate(map(metric_spec.fitting, _settings(metric_spec.parameters))):
            case = metric_case(metric_spec, params, rng, weighted=index % 2 == 1)
            found[f"{name}-metric-{index}"] = ("metric", Recipe(name, params), tuple(case.inputs.values()))
        case = metric_case(metric_spec, params, rng, weighted=True)
        found[f"{name}-metric-weighted"] = ("metric", Recipe(name, params), tuple(case.inputs.values()))
    return found


def _loss_arrays(spec: LossSpec, params: dict[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels and predictions that fit the loss; where it is along axis 1, positions come after the classes."""
    if AXIS in spec.parameters and params["axis"] == 1:
        drawn = [_loss_arrays(spec, {**params, "axis": -1}, rng) for _ in range(3)]
        labels, predictions = (np.stack(parts, -1) for parts in zip(*drawn, strict=True))
        return labels, predictions
    if spec.labels == "sequences":
        labels = np.array([[1, 2, 0], [2, 2, 0], [3, 0, 0], [1, 2, 3], [4, 4, 4], [2, 0, 0]], np.int32)
        return labels, rng.normal(0, 4, (6, 7, 5)).astype(np.float32)
    logits = rng.normal(0, 4, (6, 5)).astype(np.float32)
    classes = rng.integers(0, 5, 6)
    if spec.predictions == "unit":
        drawn = rng.normal(0, 1, (6, 5))
        return (classes % 3).astype(np.int32), (drawn / np.linalg.norm(drawn, axis=1)[:, None]).astype(np.float32)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    drawn = {"chances": 1.0 / (1.0 + np.exp(-logits)), "probabilities": shares, "positive": np.abs(logits)}
    predictions = logits if params.get("from_logits") else drawn.get(spec.predictions, logits)
    truths = {
        "classes": classes.astype(np.int32) if spec.sparse else np.eye(5)[classes],
        "binary": rng.integers(0, 2, (6, 5)),
        "distribution": shares[::-1],
        "positive": np.abs(logits[::-1]),
        "values": rng.normal(0, 2, (6, 5)),
    }
    truth = truths[spec.labels]
    return truth if spec.sparse else truth.astype(np.float32), predictions.astype(np.float32)


def _settings(parameters: tuple[Parameter, ...]) -> list[dict[str, Any]]:
    """All combinations of values, or where these are too many, the first values but for one parameter at a time."""
    names = [parameter.name for parameter in parameters]
    choices = [parameter.valid for parameter in parameters]
    if math.prod(len(values) for values in choices) <= MOST_SETTINGS:
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*choices)]
    first = dict(zip(names, (values[0] for values in choices), strict=True))
    return [first, *({**first, p.name: value} for p in parameters for value in p.valid[1:])]


RECIPES = _recipes()
TABLES = {
    "layers": undeclared.LAYERS,
    "losses": undeclared.LOSSES,
    "metrics": undeclared.METRICS,
    "optimizers": undeclared.OPTIMIZERS,
}

#: What the catalogue declares of Keras' classes, by module and name: the names of arguments.
DECLARED: dict[str, dict[str, set[str]]] = {
    "layers": {name: {p.name for p in layer(name).parameters} for name in layer_names()},
    "losses": {name: {p.name for p in (REDUCTION, *spec.parameters)} for name, spec in LOSSES.items()},
    "metrics": {name: {p.name for p in spec.parameters} for name, spec in METRICS.items()},
    "optimizers": {
        name: {p.name for p in (*(OPTIONS if spec.options else ()), *spec.parameters)}
        for name, spec in OPTIMIZERS.items()
    },
}


def _asked(backend: str, key: str, kind: str) -> bool:
    return backend != "jax" or kind != "metric" or key.endswith(("-0", "-weighted"))


def _write(folder: Path, backend: str, examples: dict[str, Any], masked: dict[str, Any]) -> None:
    cases: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for key, (kind, recipe, inputs) in RECIPES.items():
        if not _asked(backend, key, kind):
            continue
        names = [f"{key}/input/{index}" for index in range(len(inputs))]
        arrays.update(zip(names, inputs, strict=True))
        cases.append({"kind": kind, "id": key, "op": recipe.name, "params": dict(recipe.params), "inputs": names})
    for module, classes in DECLARED.items():
        cases.append({"kind": "signatures", "id": f"signatures/{module}", "op": module, "names": list(classes)})
    for key, example in examples.items():
        names = [f"{key}/input/{index}" for index in range(len(example.inputs))]
        arrays.update(zip(names, example.inputs, strict=True))
        arrays.update({f"{key}/weight/{name.partition('/')[2]}": w for name, w in example.weights.items()})
        node = example.node
        case = {"kind": "layer", "id": key, "op": node.op, "params": dict(node.params), "inputs": names}
        named = list(layer(node.op).further)
        cases.append({**case, "call": dict(node.call_params), "list": layer(node.op).listed, "named": named})
    for key, (example, masks) in masked.items():
        names = [f"{key}/input/{index}" for index in range(len(example.inputs))]
        hidden = [None if mask is None else f"{key}/mask/{index}" for index, mask in enumerate(masks)]
        arrays.update(zip(names, example.inputs, strict=True))
        arrays.update({name: mask for name, mask in zip(hidden, masks, strict=True) if name})
        arrays.update({f"{key}/weight/{name.partition('/')[2]}": w for name, w in example.weights.items()})
        node = example.node
        case = {"kind": "masked", "id": key, "op": node.op, "params": dict(node.params), "inputs": names}
        cases.append({**case, "masks": hidden, "call": dict(node.call_params), "list": layer(node.op).listed})
    (folder / "cases.json").write_text(json.dumps(cases))
    np.savez(folder / "inputs.npz", **arrays)


def _launch(backend: str, folder: Path, examples: dict[str, Any], masked: dict[str, Any]) -> subprocess.Popen[str]:
    """A Keras process on the examples; what it says goes into a file, so that nobody waits for a full pipe."""
    _write(folder, backend, examples, masked)
    environment = {**os.environ, "KERAS_BACKEND": backend, "KERAS_HOME": str(folder), "TF_CPP_MIN_LOG_LEVEL": "3"}
    files = [str(folder / name) for name in ("cases.json", "inputs.npz", "outputs.npz", "answers.json")]
    with open(folder / "messages", "w") as messages:
        return subprocess.Popen(
            [sys.executable, str(CHILD), *files],
            env=environment,
            cwd=folder,
            stdout=messages,
            stderr=messages,
            text=True,
        )


@pytest.fixture(scope="module")
def launched(request, tmp_path_factory, draw_example):
    """One running process per backend that some selected test asks for, all at once: they mostly wait for a core."""
    asked = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = {params["answered"] for params in asked if "answered" in params}
    selected = {params.get("name") for params in asked if "answered" in params}  # None asks for all of them
    names = [name for name in layer_names() if name in selected or None in selected]
    running = {}
    for backend in sorted(wanted):
        if importlib.util.find_spec(backend) is not None and importlib.util.find_spec("keras") is not None:
            folder, examples = tmp_path_factory.mktemp(backend), dict(_examples(backend, draw_example, names))
            masked = dict(_masked_examples(backend, draw_example, names))
            running[backend] = (folder, {**examples, **masked}, _launch(backend, folder, examples, masked))
    yield running
    for _, _, process in running.values():
        process.kill()
        process.wait()


@pytest.fixture(scope="module", params=BACKENDS)
def answered(request, launched):
    """The examples, and what one Keras process made of all of them."""
    if request.param not in launched:
        pytest.skip(f"keras and {request.param} are not both installed")
    folder, examples, process = launched[request.param]
    code = process.wait(timeout=500 * max(1, _draws(request.param) // DRAWS[request.param]))
    assert code == 0, (folder / "messages").read_text()[-2000:]
    answers = json.loads((folder / "answers.json").read_text())
    outputs = dict(np.load(folder / "outputs.npz", allow_pickle=False))
    return examples, answers, outputs


@pytest.mark.parametrize("name", layer_names())
def test_layer_is_what_the_catalogue_says(answered, name):
    examples, answers, outputs = answered
    keys = [key for key in examples if key.rpartition("-")[0] == name]
    assert keys
    for key in keys:
        example, answer = examples[key], answers[key]
        about = f"{key} {dict(example.node.params)} {dict(example.node.call_params)} {example.shapes}"
        assert "error" not in answer, f"{about}: {answer['error']}"
        assert answer["weights"] == [weight.partition("/")[2] for weight in example.weights], about
        assert [tuple(shape) for shape in answer["shapes"]] == list(
            layer(name).shape(example.params, example.shapes)
        ), about
        for index, evaluation in enumerate(evaluate_node(example.node, example.inputs, example.weights)):
            units = error_units(outputs[f"{key}.{index}"], evaluation, "float32")
            assert units.max(initial=0.0) < K, f"{about}: output {index}: e = {units.max():.3g}"


@pytest.mark.parametrize("name", layer_names())
def test_layer_survives_its_configuration(answered, name):
    """Made again of its configuration, a layer has the same configuration and, in inference, the same output."""
    examples, answers, _ = answered
    for key in (key for key in examples if key.rpartition("-")[0] == name):
        if _cannot_be_restored(examples[key]):
            continue
        about = f"{key} {dict(examples[key].node.params)} {examples[key].shapes}"
        assert not answers[key]["lost"], f"{about}: {answers[key]['lost']}"


@pytest.mark.parametrize("name", layer_names())
def test_declared_parameters_are_constructor_arguments(answered, name):
    examples, answers, _ = answered
    declared = {parameter.name for parameter in layer(name).parameters} - NOT_IN_THE_CONFIG.get(name, set())
    key = next(key for key in examples if key.rpartition("-")[0] == name)
    assert declared <= set(answers[key]["config"])


@pytest.mark.parametrize("module", list(DECLARED))
def test_every_argument_is_declared_or_left_out_for_a_reason(answered, module):
    """A new argument of Keras fails here until somebody has thought about it."""
    examples, answers, _ = answered
    asked = answers[f"signatures/{module}"]
    for name, declared in DECLARED[module].items():
        given = set(asked[name]["init"])
        if module == "layers":  # a base class' arguments are seen in the configuration
            given |= set(answers[next(key for key in examples if key.rpartition("-")[0] == name)]["config"])
        silent = {argument for argument in given - declared if not undeclared.reason(TABLES[module], name, argument)}
        assert not silent, f"{name}: neither declared nor in operators/undeclared.py: {sorted(silent)}"
        stale = set(TABLES[module].get(name, {})) - (given - declared)
        assert not stale, f"{name}: operators/undeclared.py gives reasons for what there is not: {sorted(stale)}"


def test_every_argument_of_a_call_is_declared_or_left_out_for_a_reason(answered):
    _, answers, _ = answered
    for name, asked in answers["signatures/layers"].items():
        declared = {parameter.name for parameter in layer(name).call_parameters}
        silent = set(asked["call"]) - declared - set(undeclared.CALLS)
        assert not silent, f"{name}: neither declared nor in operators/undeclared.py: {sorted(silent)}"


@pytest.mark.parametrize("name", [name for name in layer_names() if _over_steps(name)])
def test_a_mask_does_what_the_catalogue_says(answered, name):
    examples, answers, outputs = answered
    keys = [key for key in examples if key.rpartition("-masked-")[0] == name]
    if not keys:
        pytest.skip("no draw of it takes a mask of steps")
    for key in keys:
        example, masks = examples[key]
        about = f"{key} {dict(example.node.params)} {dict(example.node.call_params)} {example.shapes}"
        assert "error" not in answers[key], f"{about}: {answers[key]['error']}"
        found, shown = _expected(example, masks)
        for index, evaluation in enumerate(found):
            units = error_units(outputs[f"{key}.{index}"], evaluation, "float32")
            assert units.max(initial=0.0) < K, f"{about}: output {index}: e = {units.max():.3g}"
        wanted = [None if mask is None else mask.tolist() for mask in shown]
        seen = answers[key]["masks"]
        if name in ("MultiHeadAttention", "GroupQueryAttention"):
            wanted, seen = wanted[:1], seen[:1]  # the scores keep the mask they were made with, which no layer reads
        assert seen == wanted, about


@pytest.mark.parametrize("key", [key for key, (kind, _, _) in RECIPES.items() if kind == "loss"])
def test_loss_is_what_the_catalogue_says(answered, key):
    _, answers, outputs = answered
    _, recipe, (labels, predictions) = RECIPES[key]
    if recipe.name == "Tversky" and recipe.params["alpha"] != recipe.params["beta"]:
        return  # a defect of all backends: alpha weighs the misses, beta the false alarms (trophies/)
    if _lacks_axis(recipe, answers["backend"]):
        said = {
            "tensorflow": "Only axis=-1 is currently supported",
            "jax": "the same shape up until the last dimension",
        }
        assert said[answers["backend"]] in answers[key]["error"]
        return
    if recipe.params.get("label_smoothing") and recipe.params["axis"] == 1 and "Categorical" in recipe.name:
        return  # a defect of all backends: the last axis is taken for the classes (trophies/)
    assert "error" not in answers[key], answers[key]["error"]
    apart = recipe.params.get("reduction", "mean") is None
    truth = LOSSES[recipe.name].each if apart else LOSSES[recipe.name].value
    units = error_units(outputs[f"{key}.0"], truth(recipe.params, labels, predictions), "float32")
    assert units.max() < K, f"{recipe}: e = {units.max():.3g}"


@pytest.mark.parametrize("key", [key for key, (kind, _, _) in RECIPES.items() if kind == "optimizer"])
def test_optimizer_is_what_the_catalogue_says(answered, key):
    _, answers, outputs = answered
    _, recipe, (weight, gradients) = RECIPES[key]
    assert "error" not in answers[key], answers[key]["error"]
    state = None
    for number, (gradient, after) in enumerate(zip(gradients, outputs[f"{key}.0"], strict=True), start=1):
        if recipe.name == "ScheduleFreeAdamW" and number > 1 and answers["backend"] != "jax":
            break  # a defect: the old momentum is read after it was overwritten (trophies/)
        found = evaluate_step(recipe, weight, gradient, state, number, Surroundings(path="kernel"))
        units = error_units(after, found.weight, "float32")
        assert units.max() < K, f"{recipe}, step {number}: e = {units.max():.3g}"
        weight, state = after, found.state


@pytest.mark.parametrize("key", [key for key, (kind, _, _) in RECIPES.items() if kind == "metric"])
def test_metric_is_what_the_catalogue_says(answered, key):
    _, answers, outputs = answered
    _, recipe, arrays = RECIPES[key]
    if key not in answers:
        pytest.skip("JAX compiles every use, so it is asked for few")
    ignoring = recipe.name == "SparseCategoricalCrossentropy" and recipe.params["ignore_class"] is not None
    if ignoring and len(arrays) == 2:
        pytest.xfail("a defect: what is ignored is counted unless samples have weights (trophies)")
    if _metric_defect(recipe, answers["backend"]):
        pytest.xfail("a defect of the metric on this backend (trophies)")
    if _lacks_axis(recipe, answers["backend"]):
        pytest.skip("the backend takes the last axis alone")
    assert "error" not in answers[key], answers[key]["error"]
    truth = METRICS[recipe.name].evaluate(recipe.params, arrays)
    assert outputs[f"{key}.0"].shape == truth.value.shape
    units = error_units(outputs[f"{key}.0"], truth, "float32")
    assert units.max() < K, f"{recipe}: e = {units.max():.3g}, {outputs[f'{key}.0']} instead of {truth.value}"
