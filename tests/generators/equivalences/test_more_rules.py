"""Rules beyond the paper, one by one: what the other side is, and where there is none."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.call import ApiCall, ArrayArg, DtypeArg, TupleArg
from tensorparity.core.case import Case
from tensorparity.core.graph import InputSpec, LayerGraph, Node, Ref
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe
from tensorparity.core.rule import RULES
from tensorparity.generators.equivalences import inverse_pairs, picture_files
from tensorparity.generators.equivalences.combined import Combined
from tensorparity.generators.equivalences.documented_formula import FORMULAS, Words
from tensorparity.generators.equivalences.exported_models import FORMATS, export_cases
from tensorparity.generators.equivalences.formulas_of_more import OF_AXIS, OF_TWO
from tensorparity.generators.equivalences.lives import is_left_to_chance, lived
from tensorparity.generators.equivalences.lossy_pictures import smooth
from tensorparity.generators.equivalences.optimizer_states import OPTIMIZERS
from tensorparity.operators.catalogue import layer_names
from tensorparity.oracles.kinds import oracle_of

X = np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(2, 2, 3)
PLAIN = Case(ApiCall("torch.tanh", (ArrayArg("x"),)), Procedure(goal=Goal.CALL, rows=2), {"x": X})


def rule(name: str) -> Any:
    return RULES.get(name)


def of(api: str, *more: Any, **kwargs: Any) -> Case:
    return replace(PLAIN, subject=ApiCall(api, (ArrayArg("x"), *more), kwargs))


class TestPictures:
    def test_files_of_pictures_come_back_as_they_were(self) -> None:
        rng = np.random.default_rng(5)
        for most in (1, 2, 40, 256):
            frames = rng.integers(0, most, (2, 61, 83)).astype(np.uint8)  # more codes than a dictionary holds
            found = picture_files.read_gif(picture_files.gif_bytes(frames))
            assert found.shape == (2, 61, 83, 3)
            assert (found == frames[..., None]).all()
        for channels in (1, 3, 4):
            picture = rng.integers(0, 256, (3, 5, channels)).astype(np.uint8)
            for down in (False, True):
                assert (picture_files.read_bmp(picture_files.bmp_bytes(picture, top_down=down)) == picture).all()

    def test_other_bytes_are_no_picture(self) -> None:
        whole = picture_files.gif_bytes(np.zeros((1, 2, 2), np.uint8))
        for data in (b"", b"GIF89a", whole[:-1], whole[:-3] + b"\0;", b"BM" + bytes(60)):
            with pytest.raises(picture_files.NoPictureError):
                (picture_files.read_gif if data[:2] != b"BM" else picture_files.read_bmp)(data)

    def test_a_file_that_is_none_has_no_other_side(self) -> None:
        case = rule("encode-decode-ours").own_cases("tensorflow", 1, 0)[0]
        assert rule("encode-decode-ours").equivalence(case) is not None
        spoilt = replace(case, inputs={"file": np.asarray(["AAAA"], dtype=object)})
        assert rule("encode-decode-ours").counterpart(spoilt) is None

    def test_pictures_with_loss_are_smooth(self) -> None:
        picture = smooth(np.random.default_rng(0)).astype(float)
        assert np.abs(np.diff(picture, axis=1)).max() < 64

    def test_lossy_ones_need_be_no_closer_than_stated(self) -> None:
        assert rule("encode-decode-lossy").demands.decibels == 30.0


class TestInverses:
    @pytest.mark.parametrize("library", ["torch", "tensorflow", "jax", "keras"])
    def test_every_pair_is_of_one_library_and_drawn_within_its_range(self, library: str) -> None:
        rng = np.random.default_rng(0)
        for call, draw in (*inverse_pairs.rounded(library), *inverse_pairs.moved(library)):
            names = {inner.api.partition(".")[0] for inner in call.calls() if inner.api[0].isalpha()}
            assert names == {library}
            assert np.isfinite(draw(rng).astype(float)).all()

    def test_another_program_has_no_inverse(self) -> None:
        assert rule("inverse-pairs").counterpart(PLAIN) is None


class TestFormats:
    def test_the_input_and_the_result_are_turned(self) -> None:
        case = rule("data-format").own_cases("keras", 1, 0)[0]
        other = rule("data-format").counterpart(case).subject
        assert (other.api, other.args[1]) == ("keras.ops.transpose", (0, 2, 3, 1))
        assert other.args[0].kwargs["data_format"] == "channels_first"
        assert other.args[0].args[0].args[1] == (0, 3, 1, 2)

    def test_an_array_of_other_axes_has_none(self) -> None:
        case = rule("data-format").own_cases("keras", 1, 0)[0]
        flat = replace(case, inputs={**case.inputs, "x": case.inputs["x"][0]})
        assert rule("data-format").counterpart(flat) is None


class TestConfigurations:
    def test_what_is_made_again_is_made_of_the_configuration(self) -> None:
        (case, *_) = rule("configuration").own_cases("keras", 1, 0)
        other = rule("configuration").counterpart(case).subject
        maker = case.subject.args[0]
        assert other.args[0].api == f"{maker.api}.from_config"
        assert other.args[0].args[0] == case.subject
        again = replace(case, subject=other)
        assert rule("configuration").counterpart(again) is None

    def test_everything_of_the_catalogue_is_made_with_its_arguments_set(self) -> None:
        cases = rule("configuration").own_cases("keras", 1, 0)
        names = {case.subject.args[0].api for case in cases}
        for name in ("losses.Huber", "metrics.AUC", "optimizers.Adam", "layers.Conv2D"):
            assert f"keras.{name}" in names
        (huber,) = (case.subject.args[0] for case in cases if case.subject.args[0].api == "keras.losses.Huber")
        assert huber.kwargs["delta"] != 1.0


class TestCombined:
    def test_a_way_is_taken_inside_of_the_other(self) -> None:
        other = rule("turned-and-traced").counterpart(PLAIN)
        assert other.procedure.variant == "turned + jit.trace"

    def test_a_program_is_run_in_the_other_way(self) -> None:
        combined = rule("padding-and-aot")
        case = next(filter(None, map(combined.equivalence, combined.own_cases("torch", 9, 0))))
        assert case.counterpart.procedure.variant == "aot_eager"
        assert case.counterpart.subject != case.subject

    def test_they_are_absent_where_either_is(self) -> None:
        for name in RULES.names():
            both = RULES.get(name)
            if isinstance(both, Combined):
                assert set(both.absent) == set(both.first.absent) | set(both.second.absent)


class TestGradients:
    def test_there_is_nothing_to_compare_before_something_is_pulled_back(self) -> None:
        once = replace(PLAIN, procedure=replace(PLAIN.procedure, derivative=1))
        assert rule("slopes").equivalence(PLAIN) is None
        procedure = rule("slopes").equivalence(once).counterpart.procedure
        assert (procedure.variant, procedure.dtype) == ("slopes", "float64")
        assert rule("forward-mode").equivalence(once).counterpart.procedure.dtype is None

    def test_what_reads_one_triangle_has_no_slopes(self) -> None:
        once = replace(of("torch.linalg.cholesky"), procedure=replace(PLAIN.procedure, derivative=1))
        assert rule("slopes").equivalence(once) is None
        assert rule("forward-mode").equivalence(once) is None


def test_numbers_that_libraries_take_for_zero_are_zero() -> None:
    tiny = replace(PLAIN, inputs={"x": np.asarray([[1e-44, 1.0], [-1e-40, 2e-38]], np.float32)})
    assert rule("numpy-twin").prepared(tiny).inputs["x"].tolist() == [[0.0, 1.0], [0.0, np.float32(2e-38)]]


class TestLives:
    CASE = Case(
        rule("save-h5").own_cases("keras", 1, 0)[0].subject,
        Procedure(goal=Goal.UPDATE, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD")),
        {"a": np.arange(4.0)},
        labels={"b": np.arange(4.0)},
    )

    def test_there_are_a_thousand_instances_no_two_alike(self) -> None:
        case = lived(self.CASE, "lived model", 7)
        assert (len(case.inputs["a"]), len(case.labels["b"]), case.procedure.batch_size) == (1000, 1000, 1000)
        assert len(np.unique(case.inputs["a"])) > 700  # a quarter of them is zero
        assert 0.0 <= case.inputs["a"].min() < case.inputs["a"].max() <= 3.0
        assert case.labels["b"][:5].tolist() == [0.0, 1.0, 2.0, 3.0, 0.0]
        assert rule("evaluated-by-7").counterpart(case).procedure.batch_size == 7

    def test_each_way_is_of_what_it_can_carry(self) -> None:
        whole, model = lived(self.CASE, "lived"), lived(self.CASE, "lived model")
        assert rule("whole-keras").counterpart(whole).procedure.variant == "lived keras"
        assert rule("whole-keras").counterpart(model) is None
        assert rule("model-json").counterpart(model).procedure.variant == "lived model json"
        assert rule("model-json").counterpart(whole) is None

    def test_what_draws_in_training_has_no_life(self) -> None:
        lstm = {"class_name": "LSTM", "config": {"units": 2, "dropout": 0.5}}
        layers: dict[str, Any] = {"Bidirectional": {"layer": lstm}, "RandomContrast": {"factor": 0.5}}
        for op, params in {**layers, "Attention": {"dropout": 0.25}, "Dropout": {"rate": 0.5}}.items():
            node = Node("y", op, (Ref("a"),), params)
            case = replace(self.CASE, subject=LayerGraph((InputSpec("a", (3, 3)),), (node,), (Ref("y"),)))
            other = rule("whole-keras").counterpart(lived(case, "lived"))
            assert (other is None) == (op != "Dropout"), op  # a worker sets the rate to zero
        for case in rule("model-keras").own_cases("keras", 12, 0):
            assert not is_left_to_chance(case)

    def test_every_optimizer_of_torch_has_its_turn(self) -> None:
        cases = rule("optimizer-state").own_cases("torch", 1, 0)
        assert [case.procedure.variant for case in cases] == [f"trained {name}" for name in OPTIMIZERS]
        other = rule("optimizer-file").counterpart(cases[0])
        assert other.procedure.variant == "trained SGD, torch.save"


class TestExportedModels:
    def test_every_layer_is_a_model_of_its_own(self) -> None:
        cases = rule("export-onnx").own_cases("keras", 400 // 10, 0)
        assert len(cases) > 0.95 * len(layer_names())
        assert {len(case.subject.nodes) for case in cases} == {1}
        names = [rule("export-onnx").about(case) for case in cases]
        assert len(set(names)) == len(names)
        assert "keras.layers.Dense" in names
        assert not rule("export-onnx").own_cases("torch", 40, 0)

    def test_a_stream_of_them_brings_every_layer_to_every_format(self) -> None:
        pairs = set()
        for case in itertools.islice(export_cases(0, ("Dense", "ReLU")), 40):
            pairs.add((case.subject.nodes[0].op, case.counterpart.rule))  # type: ignore[union-attr]
            assert oracle_of(case) == "equivalence"
        assert len(pairs) == 2 * len(FORMATS)

    def test_the_other_side_is_a_format(self) -> None:
        (case, *_) = rule("export-litert").own_cases("keras", 1, 0)
        both = rule("export-litert").equivalence(case)
        assert both.counterpart.procedure.reload
        assert both.counterpart.procedure.variant == "export litert"
        assert rule("export-litert").equivalence(PLAIN) is None


class TestArchitectures:
    def test_torchs_are_three_and_answer_for_a_thousand_instances(self) -> None:
        cases = rule("state-dict").own_cases("torch", 1, 0)[1:]
        assert [rule("state-dict").about(case) for case in cases] == ["torch.nn.Sequential", "torch.nn.Linear"] + [
            "torch.nn.TransformerEncoder"
        ]
        assert all(len(np.unique(case.inputs["x"], axis=0)) == 1000 for case in cases)
        assert all(rule("batches-of-3").equivalence(case) is not None for case in cases)

    def test_keras_dear_ones_come_with_a_large_budget(self) -> None:
        few = rule("save-keras").own_cases("keras", 4, 0)
        many = rule("save-keras").own_cases("keras", 20, 0)
        assert not any(isinstance(case.subject, ApiCall) for case in few)
        (model,) = [case for case in many if isinstance(case.subject, ApiCall)]
        assert rule("save-keras").about(model) == "keras.applications.MobileNet"
        assert rule("save-keras").equivalence(model).counterpart.procedure.variant == "saved"
        made = next(call for call in model.subject.calls() if call.api.startswith("keras.applications."))
        assert made.kwargs["weights"] is None


class TestFedModels:
    def test_half_are_asked_and_half_are_evaluated(self) -> None:
        asked, lived_one = rule("fed-loader").own_cases("keras", 2, 0)
        assert (len(next(iter(asked.inputs.values()))), asked.procedure.batch_size, asked.labels) == (26, 8, {})
        assert lived_one.procedure.goal is Goal.FIT
        assert rule("fed-loader").counterpart(asked).procedure.variant == "fed DataLoader"
        assert rule("fed-loader").counterpart(lived_one).procedure.variant == "lived model fed DataLoader"
        assert "keras" in rule("fed-loader").libraries()


def test_a_network_is_compiled_as_a_whole_and_what_it_was_made_of_before() -> None:
    (case, *_) = rule("network-jit-compile").own_cases("keras", 1, 0)
    assert case.procedure.mode is Mode.EAGER
    compiled = rule("network-jit-compile").counterpart(case).procedure
    assert (compiled.mode, compiled.variant, compiled.reload) == (Mode.USER, "jit_compile", False)
    cloned = rule("network-cloned-and-jit").counterpart(case).procedure
    assert (cloned.variant, cloned.reload) == ("clone + jit_compile", True)
    assert rule("network-saved-and-jit").counterpart(case).procedure.variant == "jit_compile"
    assert len(rule("network-jit-compile").own_cases("keras", 20, 0)) == 2
    assert rule("network-configured-and-eager").counterpart(case) is None  # both sides would run eagerly


def test_a_network_is_run_eagerly_or_watched() -> None:
    (case,) = rule("network-eagerly").own_cases("keras", 1, 0)
    assert rule("network-eagerly").counterpart(case).procedure.mode is Mode.EAGER
    assert rule("network-traced").counterpart(case).procedure.trace
    assert rule("network-traced").counterpart(PLAIN) is None


class TestOtherBackends:
    def test_the_case_is_its_own_other_side(self) -> None:
        case = of("keras.ops.tanh")
        assert rule("other-backends").equivalence(case) is case
        assert rule("other-backends").oracle == "same_call"

    @pytest.mark.parametrize("api", ["torch.tanh", "keras.layers.Dense", "keras.random.normal"])
    def test_what_has_weights_or_draws_is_left_out(self, api: str) -> None:
        assert rule("other-backends").equivalence(of(api)) is None


#: What the words of formulas are in NumPy.
_NUMPY: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("exp", "log", "tanh", "abs", "sqrt", "where", "sin", "square", "greater")},
    **{name: getattr(np, name) for name in ("add", "multiply", "subtract", "divide", "maximum", "minimum")},
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
}


def _value(call: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(call, ArrayArg):
        return arrays[call.name].astype(np.float64)
    if not isinstance(call, ApiCall):
        return call
    assert not isinstance(call, DtypeArg)
    args = [_value(part, arrays) for part in call.args]
    return _NUMPY[call.api.rpartition(".")[2]](*args, **call.kwargs)


A, B = np.asarray([[0.5, 2.0, -1.0]]), np.asarray([[1.5, -2.0, 0.25]])
_TRUE_OF_TWO = {
    "squared_difference": (A - B) ** 2,
    "hypot": np.hypot(A, B),
    "logaddexp": np.logaddexp(A, B),
    "logaddexp2": np.logaddexp2(A, B),
    "subtract": A - B,
    "sub": A - B,
    "multiply": A * B,
    "maximum": np.maximum(A, B),
    "minimum": np.minimum(A, B),
    "float_power": np.abs(A) ** B,
}
_TRUE_OF_AXIS = {
    "softmax": np.exp(A) / np.exp(A).sum(),
    "softmin": np.exp(-A) / np.exp(-A).sum(),
    "log_softmax": np.log(np.exp(A) / np.exp(A).sum()),
    "logsumexp": np.log(np.exp(A).sum(axis=-1)),
    "reduce_logsumexp": np.log(np.exp(A).sum(axis=-1)),
    "reduce_variance": A.var(axis=-1),
    "reduce_std": A.std(axis=-1),
    "l2_normalize": A / np.sqrt((A**2).sum()),
}


class TestFormulas:
    @pytest.mark.parametrize("name", OF_TWO)
    def test_of_two(self, name: str) -> None:
        first = np.abs(A) if name == "float_power" else A
        formula = OF_TWO[name][1](Words("jax"), ArrayArg("a"), ArrayArg("b"))
        assert np.allclose(_value(formula, {"a": first, "b": B}), _TRUE_OF_TWO[name])

    @pytest.mark.parametrize("name", OF_AXIS)
    def test_along_an_axis(self, name: str) -> None:
        formula = OF_AXIS[name][1](Words("jax"), ArrayArg("a"), -1)
        assert np.allclose(_value(formula, {"a": A}), _TRUE_OF_AXIS[name])

    @pytest.mark.parametrize(
        ("name", "true"),
        [("atanh", np.arctanh), ("acosh", np.arccosh), ("rsqrt", lambda x: x**-0.5), ("log10", np.log10)]
        + [
            ("log2", np.log2),
            ("log1p", np.log1p),
            ("logit", lambda x: np.log(x / (1 - x))),
            ("reciprocal", np.reciprocal),
        ],
    )
    def test_of_one(self, name: str, true: Any) -> None:
        x = np.asarray([1.5, 3.0]) if name == "acosh" else np.asarray([0.25, 0.75])
        assert np.allclose(_value(FORMULAS[name][1](Words("jax"), ArrayArg("a")), {"a": x}), true(x))

    def test_they_are_of_calls_that_say_no_more(self) -> None:
        made = rule("documented-formula").equivalence(of("torch.logsumexp", 1))
        assert made.counterpart.subject.api == "torch.log"
        assert rule("documented-formula").equivalence(of("torch.logsumexp", 1, True)) is None
        assert rule("documented-formula").equivalence(of("torch.logsumexp", 5)) is None
        assert rule("documented-formula").equivalence(of("jax.nn.softmax")) is not None
        assert rule("documented-formula").equivalence(of("torch.hypot", ArrayArg("x"))) is not None


class TestOptimizersOfTorchsTests:
    def trained(self, **kwargs: Any) -> Case:
        sample = Case(ApiCall("torch.optim.Adam", (), kwargs), inputs={"rate": np.array(0.5, np.float32)})
        return rule("optimizer-state").of_sample(sample)  # type: ignore[no-any-return]

    def test_a_module_is_trained_with_their_settings(self) -> None:
        case = self.trained(amsgrad=True, betas=TupleArg((0.5, 0.75)), lr=ArrayArg("rate"))
        assert case.procedure.variant == 'trained Adam{"amsgrad":true,"betas":[0.5,0.75],"lr":{"$tensor":0.5}}'
        assert set(case.inputs) == {"x"}

    def test_without_settings_it_is_trained_with_ours(self) -> None:
        assert self.trained().procedure.variant == "trained Adam"

    @pytest.mark.parametrize(
        ("name", "way"),
        [("optimizer-state", "state_dict"), ("optimizer-foreach", "foreach"), ("optimizer-fused", "fused")],
    )
    def test_it_is_carried_over_or_taken_at_once(self, name: str, way: str) -> None:
        case = self.trained(amsgrad=True, lr=0.5)
        other = rule(name).counterpart(case)
        assert other.procedure.variant == case.procedure.variant + ", " + way
        assert rule(name).counterpart(replace(case, procedure=other.procedure)) is None

    def test_other_calls_that_ship_are_no_optimizers(self) -> None:
        assert rule("optimizer-state").of_sample(PLAIN) is None
        assert rule("strided").of_sample(PLAIN) is None


class TestTimeMajor:
    def cases(self) -> list[Case]:
        return rule("time-major").own_cases("torch", 40, 0)  # type: ignore[no-any-return]

    def test_outputs_are_turned_back_and_states_are_not(self) -> None:
        turned = {
            case.subject.args[1]: rule("time-major").counterpart(case).subject.api  # type: ignore[union-attr]
            for case in self.cases()
        }
        assert turned == {0: "torch.transpose", 1: "[]"}

    def test_both_sides_begin_with_the_same_states(self) -> None:
        given = [case for case in self.cases() if "h0" in case.inputs]
        assert {"c0" in case.inputs for case in given} == {True, False}
        for case in given:
            counterpart = rule("time-major").counterpart(case)
            assert set(counterpart.subject.arrays()) == set(case.inputs)


class TestWindows:
    IMAGE, KERNEL = np.ones((2, 1, 8, 3), np.float32), np.ones((2, 3, 3, 4), np.float32)

    def conv(self, **kwargs: Any) -> Case:
        call = ApiCall("keras.ops.conv", (ArrayArg("x"), ArrayArg("w")), kwargs)
        return Case(call, Procedure(goal=Goal.CALL, rows=2), {"x": self.IMAGE, "w": self.KERNEL})

    def test_what_is_dilated_is_padded_by_all_that_it_spans(self) -> None:
        pads = {
            rate: rule("explicit-padding")
            .counterpart(self.conv(padding="same", dilation_rate=rate))
            .subject.args[0]
            .args[1]
            for rate in (1, 2, 3)
        }
        assert {rate: pad[1] for rate, pad in pads.items()} == {1: [1, 1], 2: [2, 2], 3: [3, 3]}

    def test_axes_that_are_elsewhere_are_left_alone(self) -> None:
        turned = self.conv(padding="same", data_format="channels_first")
        assert rule("explicit-padding").counterpart(turned) is None
        assert rule("higher-dimension").counterpart(turned) is None

    @pytest.mark.parametrize(("library", "most"), [("torch", 3), ("tensorflow", 2), ("jax", 3), ("keras", 3)])
    def test_dilation_is_tried_in_every_number_of_axes(self, library: str, most: int) -> None:
        cases = rule("dilated-by-conv").own_cases(library, 30, 0)
        assert {case.inputs["w"].ndim - 3 for case in cases} == set(range(1, most + 1))
        for case in cases:
            wide = rule("dilated-by-conv").counterpart(case).inputs["w"]
            assert wide.sum() == pytest.approx(case.inputs["w"].sum(), rel=1e-4)
            assert wide.size > case.inputs["w"].size or 1 in case.inputs["w"].shape

    def test_means_and_depthwise_kernels_have_their_windows(self) -> None:
        for library, api in (("tensorflow", "tensorflow.nn.avg_pool2d"), ("keras", "keras.ops.average_pool")):
            names = {case.subject.api for case in rule("higher-dimension").own_cases(library, 20, 0)}
            assert api in names
        for library, api in (("tensorflow", "tensorflow.nn.depthwise_conv2d"), ("keras", "keras.ops.depthwise_conv")):
            cases = [case for case in rule("explicit-padding").own_cases(library, 40, 0) if case.subject.api == api]
            assert any(rule("explicit-padding").counterpart(case) for case in cases)
