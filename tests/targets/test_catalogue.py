"""The table of targets: their traits, and which adapter runs them where."""

from __future__ import annotations

import pytest

from tensorparity.core.errors import UsageError
from tensorparity.core.procedure import Goal
from tensorparity.targets import runner, selection
from tensorparity.targets.catalogue import TARGETS, AdapterChoice, TargetSpec, traits_of
from tensorparity.targets.environments import Inventory, in_versions
from tensorparity.targets.names import parse_target
from tensorparity.targets.runner import PreparedTarget, RunnerSettings

OLD_AND_NEW = TargetSpec(
    "keras:theano",
    (AdapterChoice("keras3", "keras", ">=3"), AdapterChoice("keras2", "keras", ">=2.2,<3")),
    ("keras", "theano"),
    extra="dev",
    summary="Keras on Theano",
)


def desk_with(monkeypatch: pytest.MonkeyPatch, **versions: str) -> PreparedTarget:
    found = Inventory("3.11", {name: (version, "") for name, version in versions.items()})
    monkeypatch.setattr(runner, "inventory", lambda environment: found)
    return PreparedTarget(parse_target("keras:theano"), RunnerSettings(), OLD_AND_NEW)


@pytest.mark.parametrize(("version", "adapter"), [("3.10.1", "keras3"), ("2.3.1", "keras2"), ("3.0rc1", "keras3")])
def test_the_environment_decides_between_the_adapters_of_a_target(
    monkeypatch: pytest.MonkeyPatch, version: str, adapter: str
) -> None:
    desk = desk_with(monkeypatch, keras=version, theano="1.0")
    assert desk.adapter == adapter
    assert desk.plan().start["adapter"] == adapter


@pytest.mark.parametrize(("versions", "said"), [({"keras": "1.2"}, "keras 1.2"), ({}, "keras not installed")])
def test_where_no_adapter_fits_it_is_said_what_was_found(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=r"keras:theano has adapters for keras>=3 and keras>=2\.2,<3; found.*") as told:
        _ = desk_with(monkeypatch, **versions).adapter
    assert said in str(told.value)


def test_a_target_with_one_adapter_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "inventory", lambda environment: pytest.fail("was asked"))
    assert PreparedTarget(parse_target("keras:jax"), RunnerSettings()).adapter == "keras3"


@pytest.mark.parametrize(
    ("version", "versions", "inside"),
    [
        ("3.0", ">=3", True),
        ("3", "==3.0", True),
        ("2.9.1", ">=2.9,<3", True),
        ("2.10", "<2.9", False),
        ("2.10", "", True),
        ("2.10", "!=2.10", False),
    ],
)
def test_ranges_of_versions(version: str, versions: str, inside: bool) -> None:
    assert in_versions(version, versions) is inside


def test_what_is_no_range_is_refused() -> None:
    with pytest.raises(UsageError, match="no bound of a version"):
        in_versions("3.0", "~=3")


@pytest.mark.parametrize(
    ("implementation", "targets"),
    [
        ("tensorflow", ["keras:tensorflow", "keras:tensorflow{TF_ENABLE_ONEDNN_OPTS=0}", "tensorflow:xla"]),
        ("jax", ["keras:jax", "jax:eager", "jax:jit"]),
        ("numpy", ["keras:numpy", "keras:numpy@old"]),
        ("torch", ["keras:torch", "torch:eager", "torch:compile", "torch:compile@nightly{threads=1}"]),
        ("openvino", ["keras:openvino", "openvino", "openvino{threads=2}"]),
        (
            "onnxruntime",
            ["onnxruntime", "onnxruntime{optimization=none}", "onnxruntime@1.17{a=b}", "onnxruntime{a=b}@x"],
        ),
        ("onnx", ["onnx:reference"]),
        ("fake:a", ["fake:a", "fake:a@somewhere"]),
        ("mine", ["mine"]),
    ],
)
def test_targets_of_one_implementation_have_one_vote(implementation: str, targets: list[str]) -> None:
    assert traits_of(targets).implementations(targets) == {implementation}


@pytest.mark.parametrize("op", ["Conv2D", "MaxPooling1D", "STFTSpectrogram", "conv1d", "avg_pool2d"])
def test_borrowed_kernels_have_no_vote_of_their_own(op: str) -> None:
    targets = ["keras:jax", "keras:numpy"]
    assert traits_of(targets).implementations(targets, op) == {"jax"}


@pytest.mark.parametrize("op", ["Dense", "LSTM", "Softmax", "GlobalMaxPooling1D", "exp", ""])
def test_everything_else_is_numpys_own(op: str) -> None:
    targets = ["keras:jax", "keras:numpy"]
    assert traits_of(targets).implementations(targets, op) == {"jax", "numpy"}


def test_the_traits_of_a_run_include_those_who_are_asked_beside_it() -> None:
    traits = traits_of(["keras:jax"])
    assert {name for name in traits if traits[name].witness} == {"torch:eager", "onnxruntime"}
    assert {name for name in traits if traits[name].arbiter} == {"keras:numpy", "onnx:reference"}


def test_keras_keeps_float64_on_tensorflow_alone() -> None:
    names = [name for name in TARGETS.names() if TARGETS.get(name).traits.family == "keras"]
    wide = [name for name in names if TARGETS.get(name).traits.effective_dtype("float64") == "float64"]
    assert wide == ["keras:tensorflow"]
    assert all(TARGETS.get(name).traits.effective_dtype("float16") == "float16" for name in names)


def test_traits_have_the_name_of_their_target() -> None:
    assert all(TARGETS.get(name).traits.name == name for name in TARGETS.names())
    assert TARGETS.get("torch:compile").traits.max_goal is Goal.GRADIENTS


def test_every_backend_is_looked_at_and_compiling_ones_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "installed_target", lambda name: True)
    assert set(selection.searched_targets()) == {"keras:numpy", "keras:openvino"}
    assert selection.only_alone() == ["keras:openvino"]
