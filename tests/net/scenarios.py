"""What is recorded: which cases, on which targets, with which faults planted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tensorparity.targets.faults import Fault, load_fault
from tensorparity.testing.museum import EXHIBITS, Exhibit

TF, TORCH, JAX = "keras:tensorflow", "keras:torch", "keras:jax"
THREE, TWO = (TF, TORCH, JAX), (TF, TORCH)
NATIVE = ("torch:eager", "jax:eager", "tensorflow:eager")
WITNESSES = ("torch:eager", "onnxruntime")

Planted = Mapping[str, tuple[str, ...]]
_FAULTS = Path(__file__).parent / "faults"


@dataclass(frozen=True)
class Scenario:
    """Cases that are driven together.

    Args:
        kind: which of the drivers drives it.
        planted: faults by target.
        seed: of the cases; ``count`` is how many there are.
        layers: of which networks are made; all by default. Of few, what is wrong is met again and again.
        reduced: how many of the suspicions are reduced, and how many are replayed from their cases.
        file: the model's, where it comes in one.
        like: the scenario whose recording this one uses.
        doctored: what is done to that recording; see ``doctored`` in ``drive``.
    """

    name: str
    kind: str
    targets: tuple[str, ...]
    count: int
    seed: int = 0
    planted: Planted = field(default_factory=dict)
    unit: bool = False
    layers: tuple[str, ...] = ()
    oracle: str = "parity"
    witnesses: tuple[str, ...] = ()
    reduced: int = 0
    file: str = ""
    like: str = ""
    doctored: str = ""

    @property
    def recording(self) -> str:
        return self.like or self.name

    @property
    def faults(self) -> dict[str, Fault]:
        return {target: together(names) for target, names in self.planted.items() if names}

    @property
    def everybody(self) -> tuple[str, ...]:
        return (*self.targets, *(name for name in self.witnesses if name not in self.targets))


def together(names: tuple[str, ...]) -> Fault:
    """Several faults as one, each in a namespace of its own."""
    sources = [_fault(name).source for name in names]
    space = "{'__name__': 'fault', 'TARGET': TARGET}"
    text = "".join(f"exec(compile({source!r}, 'fault', 'exec'), {space})\n" for source in sources)
    return Fault("+".join(names), text)


def _fault(name: str) -> Fault:
    own = _FAULTS / f"{name}.py"
    return load_fault(str(own) if own.exists() else name)


_FORWARD: Planted = {
    TORCH: ("batchnorm-epsilon-outside-sqrt", "avgpool-counts-padding", "maxpool-same-shifted", "bce-epsilon-twice"),
    TF: ("softmax-without-max", "conv-kernels-flipped", "globalmaxpool-ignores-nan"),
}
_BACKWARD: Planted = {
    TORCH: ("same-padding-shifted", "depthwise-first-channel", "exponential-overflows", "average-overflows-in-half"),
    TF: ("relu-gradient-at-zero", "max-gradient-to-first", "avgpool-window-as-large-as-input"),
    JAX: ("variance-by-cancellation", "batchnorm-unsafe-sqrt", "config-loses-setting"),
}
_TWO: Planted = {
    TORCH: ("maxpool-gradient-to-all", "conv-kernels-flipped", "softmax-without-max", "variance-by-cancellation"),
    TF: ("batchnorm-epsilon-outside-sqrt", "bce-epsilon-twice", "average-overflows-in-half"),
}
#: What the papers have no example of: optimizers, dtypes, shapes, whatever raises or ends the process.
_ODD: Planted = {TORCH: ("refuses_elu", "dies_of_selu", "wrong_loss"), TF: ("steps_too_far", "other_dtype", "one_more")}
_FEW = ("Conv1D", "BatchNormalization", "Softmax", "MaxPooling1D", "LayerNormalization", "Dense")


def _networks() -> Iterator[Scenario]:
    n = "networks"
    yield Scenario("networks-clean", n, THREE, 32, 11, reduced=6)
    yield Scenario("networks-clean-unit", n, THREE, 32, 19, unit=True, reduced=6)
    yield Scenario("networks-forward", n, THREE, 32, 12, _FORWARD, witnesses=WITNESSES, reduced=8)
    yield Scenario("networks-forward-unit", n, THREE, 48, 13, _FORWARD, unit=True, witnesses=WITNESSES, reduced=12)
    yield Scenario("networks-backward-unit", n, THREE, 48, 14, _BACKWARD, unit=True, reduced=12)
    yield Scenario("networks-backward", n, THREE, 24, 15, _BACKWARD, reduced=6)
    yield Scenario("networks-two", n, TWO, 64, 16, _TWO, reduced=8)
    yield Scenario("networks-two-unit", n, TWO, 64, 17, _TWO, unit=True, reduced=12)
    yield Scenario("networks-two-again", n, TWO, 64, 25, _TWO, unit=True, reduced=12)
    yield Scenario("networks-paper", n, TWO, 32, 18, _TWO, oracle="muffin", reduced=4)
    yield Scenario("networks-few", n, TWO, 48, 28, _TWO, layers=_FEW, reduced=6)
    yield Scenario("networks-odd", n, TWO, 48, 26, _ODD, reduced=4)
    yield Scenario("networks-odd-unit", n, TWO, 64, 27, _ODD, unit=True, reduced=5)
    flaky = "networks-forward-unit"
    yield Scenario("networks-flaky", n, THREE, 48, 13, unit=True, witnesses=WITNESSES, like=flaky, doctored="flaky")
    yield Scenario("networks-hangs", n, TWO, 64, 27, unit=True, like="networks-odd-unit", doctored="hangs")
    yield Scenario("networks-crashes", n, TWO, 48, 26, like="networks-odd", doctored="crashes")


def _singles() -> Iterator[Scenario]:
    yield Scenario("singles-forward", "singles", TWO, 18, 21, {**_FORWARD}, reduced=6)
    yield Scenario("singles-two", "singles", TWO, 18, 22, _TWO, reduced=6)
    yield Scenario("singles-odd", "singles", TWO, 18, 23, _ODD, reduced=4)
    yield Scenario("singles-flaky", "singles", TWO, 18, 22, like="singles-two", doctored="flaky")
    yield Scenario("museum-keras", "museum", THREE, 99, 3, _museum((TORCH, TF, JAX)), reduced=99)
    yield Scenario("museum-native", "museum", NATIVE, 99, 3, _museum(NATIVE), reduced=99)


def _calls() -> Iterator[Scenario]:
    planted = {"torch:eager": ("sqrt-truncated-newton", "norm-without-kernel"), "jax:eager": ("conv-refuses-nchw",)}
    yield Scenario("calls-clean", "calls", NATIVE, 112, 5)
    yield Scenario("calls-planted", "calls", NATIVE, 112, 32, planted)
    yield Scenario("calls-flaky", "calls", NATIVE, 112, 32, like="calls-planted", doctored="flaky")


def _models() -> Iterator[Scenario]:
    yield Scenario("models-clean", "models", THREE, 7, 41)
    yield Scenario("models-planted", "models", THREE, 7, 42, _FORWARD, reduced=4)
    yield Scenario("models-cradle", "models", TWO, 6, 43, _TWO, oracle="cradle", reduced=2)
    yield Scenario("models-flaky", "models", THREE, 7, 42, like="models-planted", doctored="flaky")
    yield Scenario("models-hangs", "models", THREE, 7, 42, like="models-planted", doctored="endings")


def _files() -> Iterator[Scenario]:
    planted: Planted = {TORCH: ("avgpool-counts-padding",)}
    own = (
        Scenario("file-keras", "file", (TF, TORCH, "onnxruntime"), 1, 51, planted, file="pictures.keras"),
        Scenario("file-torch", "file", ("torch:eager", "onnxruntime"), 1, 51, file="rows.pt2"),
        Scenario(
            "file-onnx", "file", ("onnxruntime", "openvino"), 1, 51, witnesses=("onnx:reference",), file="chain.onnx"
        ),
    )
    yield from own
    for doctor in ("off", "whole-off", "endings"):
        for scenario in own:
            yield replace(scenario, name=f"{scenario.name}-{doctor}", like=scenario.name, doctored=doctor)


def exhibits(targets: tuple[str, ...]) -> list[Exhibit]:
    """Those of the museum that run on some of these targets alone."""
    return [exhibit for exhibit in EXHIBITS if set(exhibit.targets) <= set(targets)]


def _museum(targets: tuple[str, ...]) -> Planted:
    found: dict[str, dict[str, None]] = {}
    for exhibit in exhibits(targets):
        found.setdefault(exhibit.target, {})[exhibit.fault] = None
    return {target: tuple(names) for target, names in found.items()}


SCENARIOS: tuple[Scenario, ...] = (*_networks(), *_singles(), *_calls(), *_models(), *_files())
