"""Sample facts, as the commands would hand them to a renderer."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace

import pytest

from tensorparity.core.comparison import Comparison, Distance, Example, ExampleInput, LayerDeviation, Picture
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.precision import HighPrecision, OutputDeviation
from tensorparity.core.training import LayerDrift, Parting, Training
from tensorparity.core.verdict import Judgement, Kind, Measure, Stage, Verdict
from tensorparity.reporting.facts import Facts, TargetFacts

TF, JAX, TORCH = "keras:tensorflow", "keras:jax", "keras:torch"
K = 30.0
HOSTILE = "</script><img src=x onerror=alert(1)>[red]&amp;\u2028\x1b[31m"

_VERSIONS = {
    TF: {"keras": "3.11.0", "tensorflow": "2.19.0"},
    JAX: {"keras": "3.11.0", "jax": "0.6.2"},
    TORCH: {"keras": "3.11.0", "torch": "2.7.1"},
}
_TYPES = ("Conv2D", "BatchNormalization", "ReLU", "MaxPooling2D")


def targets(**statuses: tuple[str, str]) -> tuple[TargetFacts, ...]:
    """The three Keras targets; a flavour given as keyword has that status and reason."""
    found = []
    for name in (TF, JAX, TORCH):
        status, reason = statuses.get(name.partition(":")[2], ("completed", ""))
        flags = {"TF_ENABLE_ONEDNN_OPTS": "0"} if name == TF else {}
        found.append(TargetFacts(name, _VERSIONS[name], status, reason, seconds=1.5, mode="model.predict", flags=flags))
    return tuple(found)


def layers(count: int, guilty: int | None = None) -> tuple[LayerDeviation, ...]:
    """A chain of layers; from the guilty one on, everything downstream deviates."""
    return measured([(index - 1,) for index in range(count)], guilty)


def cells(count: int) -> list[tuple[int, ...]]:
    """What flows into each layer of a network of cells, as NASNet is: branches that meet, and two cells back."""
    flow: list[tuple[int, ...]] = [(-1,), (0,)]
    ends = [0, 1]
    while len(flow) < count - 2:
        tips = []
        for branch in range(5):
            tip = ends[-1 - branch % 2]
            for _ in range(3 + branch % 3):
                flow.append((tip,))
                tip = len(flow) - 1
            flow.append((tip, ends[-1]))
            tips.append(len(flow) - 1)
        flow.append(tuple(tips))
        ends.append(len(flow) - 1)
    return [*flow, (len(flow) - 1,), (len(flow),)]


def measured(flow: list[tuple[int, ...]], guilty: int | None = None) -> tuple[LayerDeviation, ...]:
    """Layers by the places of what flows in, -1 being the input."""
    names = [f"{_TYPES[index % len(_TYPES)].lower()}_{index}" for index in range(len(flow))]
    found = []
    for index, inputs in enumerate(flow):
        wrong = guilty is not None and index >= guilty
        deviation = (0.04 if wrong else 4e-8) * (1 + (index * 7 % 5) / 5)
        found.append(
            LayerDeviation(
                name=names[index],
                call=0,
                type=_TYPES[index % len(_TYPES)],
                deviation=deviation,
                rate=612.5 if index == guilty else (index * 13 % 7) / 40,
                highlighted=index == guilty,
                isolated_error=2.4e6 if index == guilty else 0.2 + (index * 11 % 9) / 6,
                inputs=tuple("image" if place < 0 else f"{names[place]}#0" for place in inputs),
                parameters={"padding": "same", "strides": [2, 2]} if index % len(_TYPES) == 0 else {},
            )
        )
    return tuple(found)


def example() -> Example:
    """A grey gradient that one side takes for a 7 and the other for a 2."""
    rows = bytes(min(255, 8 * (x + y)) for y in range(16) for x in range(16) for _ in range(3))
    image = ExampleInput("image", (16, 16, 1), "float32", 0.0, 1.0, Picture(16, 16, b64encode(rows).decode()))
    right = ((7, 0.93), (2, 0.04), (1, 0.02), (9, 0.006), (0, 0.004))
    return Example(402, (image,), "7", True, right, ((2, 0.61), *right[2:], (7, 0.001)))


def passing(a: str, b: str, count: int = 9) -> Comparison:
    verdict = Verdict(Judgement.PASS, (a, b), "within rounding", Measure("e", 0.8), K)
    return Comparison(
        a, b, "output", verdict, 1000, 1.2e-7, 3.1e-7, 1.0, 0, 17,
        distances=(Distance("class", 0.0, 8.0, 0, False, {"16": 0, "15-8": 0, "7-4": 0, "3-2": 0, "1": 0, "0": 1000}),),
        accuracy=(0.989, 0.989), layers=layers(count),
    )  # fmt: skip


def failing(a: str, b: str, count: int = 9, guilty: int = 4) -> Comparison:
    verdict = Verdict(
        Judgement.FAIL, (a, b), "the outputs differ by more than rounding", Measure("e", 2.4e6), K, Kind.INCONSISTENCY
    )
    return Comparison(
        a, b, "output", verdict, 1000, 0.71, 0.93, 0.757, 243, 402,
        distances=(
            Distance("class", 16.0, 8.0, 212, True, {"16": 10, "15-8": 202, "7-4": 31, "3-2": 20, "1": 5, "0": 732}),
            Distance(
                "mad", 0.81, 0.2, 33, True,
                {"0.8-1.0": 3, "0.6-0.8": 9, "0.4-0.6": 10, "0.2-0.4": 11, "0.0-0.2": 967},
            ),
        ),
        accuracy=(0.989, 0.764), layers=layers(count, guilty), example=example(),
    )  # fmt: skip


def undecided(a: str, b: str, reason: str) -> Comparison:
    return Comparison(a, b, "output", Verdict(Judgement.UNDECIDED, (a, b), reason), 1000)


def finding(
    name: str = "7f3a", klass: Class = Class.DEFECT, kind: Kind = Kind.INCONSISTENCY, **changes: object
) -> Finding:
    diagnosis = {
        "klass": klass,
        "suspects": (TORCH,) if klass is Class.DEFECT else (),
        "node": "conv2d_4#0",
        "api": "keras.layers.Conv2D",
        "parameters": {"padding": "same", "strides": 2},
        "evidence": (
            "alone on identical inputs: e = 2.4e6 on keras:torch, 0.8 on keras:tensorflow, 0.7 on keras:jax (K = 30)",
            "keras:tensorflow and keras:jax agree with the NumPy float64 reference",
            "failed again in 3 of 3 fresh processes",
            "the fourth line is one too many for a terminal",
        ),
        "measure": Measure("e", 2.4e6),
        "threshold": K,
    }  # fmt: skip
    outer = {key: changes.pop(key) for key in list(changes) if key not in diagnosis}
    details: dict[str, object] = {
        "stage": Stage.FORWARD,
        "targets": (TF, JAX, TORCH),
        "signature": f"signature-{name}",
        "versions": _VERSIONS,
        "case": f"findings/{name}/case.zip",
        "reproducer": f"findings/{name}/reproducer.py",
        "engine": "cradle",
    }
    return Finding(name, kind=kind, diagnosis=Diagnosis(**(diagnosis | changes)), **(details | outer))


def compare(**changes: object) -> Facts:
    values: dict[str, object] = {
        "command": "compare",
        "seed": 0,
        "targets": targets(),
        "stats": {"cases": 3, "seconds": 12.4, "undecided": 0, "per_engine": {}},
        "comparisons": (passing(TF, JAX), passing(TF, TORCH), passing(JAX, TORCH)),
        "subject": "zoo:lenet5",
        "notes": ("Data: 1,000 images of MNIST; weights as stored in the model.",),
        "phases": {"start": 6.1, "run": 3.2, "localize": 3.1},
        "isolated_threshold": K,
    }
    return Facts(**(values | changes))


def all_pass() -> Facts:
    return compare()


def one_defect(count: int = 9) -> Facts:
    return compare(
        comparisons=(passing(TF, JAX, count), failing(TF, TORCH, count), failing(JAX, TORCH, count)),
        findings=(finding(),),
    )


def many_layers() -> Facts:
    return one_defect(count=300)


def cells_of_a_thousand() -> Facts:
    """Three pairs of a network as large as NASNetLarge."""
    flow = cells(1300)
    pair = replace(failing(TF, TORCH), layers=measured(flow, 700), example=example())
    return compare(
        comparisons=(pair, replace(pair, a=JAX), replace(passing(TF, JAX), layers=measured(flow))),
        findings=(finding(node=pair.layers[700].key),),
    )


def not_decided() -> Facts:
    reason = "the output is random and no seed reaches it"
    return compare(
        comparisons=(undecided(TF, JAX, reason), undecided(TF, TORCH, reason)),
        stats={"cases": 3, "seconds": 9.0, "undecided": 2, "per_engine": {}},
    )


def crash() -> Facts:
    trace = 'Traceback (most recent call last):\n  File "x.py", line 1, in run\nRuntimeError: killed by SIGSEGV'
    evidence = ("killed by SIGSEGV in 3 of 3 fresh processes",)
    dead = finding("c0de", kind=Kind.CRASH, evidence=evidence, measure=None, threshold=None, parameters={})
    return compare(targets=targets(torch=("crashed", trace)), comparisons=(passing(TF, JAX),), findings=(dead,))


def trained_pair(a: str, b: str, judgement: Judgement, reason: str) -> Comparison:
    measure = Measure("weights-apart", 0.0 if judgement is Judgement.PASS else 0.4)
    return Comparison(a, b, "training", Verdict(judgement, (a, b), reason, measure, 1e-3, stage=Stage.UPDATE), 40)


def trained() -> Facts:
    """Forty steps; on torch, the weights part at the fifth."""
    curve = tuple(2.3 * 0.93**step for step in range(40))
    apart = tuple(loss * (1 + min(0.3, 1e-7 * 3 ** max(0, step - 4))) for step, loss in enumerate(curve))
    drift = tuple(min(0.5, 1e-7 * 2**step) for step in range(40))
    training = Training(
        40,
        1e-3,
        {TF: curve, JAX: curve, TORCH: apart},
        drift,
        (Parting(TF, TORCH, 5, "conv2d_0/kernel", 0.4), Parting(JAX, TORCH, 5, "conv2d_0/kernel", 0.39)),
        tuple(
            LayerDrift(f"conv2d_{index}", f"conv2d_{index}/kernel", 10.0 ** (-1 - index), TF, TORCH, 5 + 9 * index)
            for index in range(3)
        )
        + (LayerDrift("head", "head/bias", 0.0, TF, JAX),),
    )
    reason = "they diverge at step 5 in conv2d_0/kernel (0.4 of its movement); rounding, at kinks"
    return compare(
        comparisons=(
            passing(TF, JAX),
            trained_pair(TF, JAX, Judgement.PASS, "the trainings stay together"),
            trained_pair(TF, TORCH, Judgement.PASS, reason),
            trained_pair(JAX, TORCH, Judgement.PASS, reason),
        ),
        training=training,
        high_precision=HighPrecision(
            "the float64 reference of every layer",
            (17, 402, 5),
            (OutputDeviation(TF, "output", 1.2e-7, 3.1e-7, 0), OutputDeviation(TORCH, "output", 0.71, 0.93, 2)),
        ),
    )


def hunt(**changes: object) -> Facts:
    values: dict[str, object] = {
        "command": "hunt",
        "seed": 7,
        "targets": targets(),
        "stats": {
            "cases": 1204,
            "seconds": 3725.0,
            "undecided": 41,
            "per_engine": {
                "muffin": {"cases": 1000, "seconds": 2400.0, "undecided": 41},
                "predoo": {"cases": 204, "seconds": 1200.5, "undecided": 0},
            },
        },
        "undecided": {"no reference for the layer and fewer than three implementations": 40, "timed out once": 1},
    }
    return Facts(**(values | changes))


def hunt_none() -> Facts:
    return hunt()


def hunt_findings() -> Facts:
    defects = [finding(f"d{index}", engine="muffin", cluster=f"cluster-{index % 3}") for index in range(4)]
    shared = finding(
        "beef", kind=Kind.NAN, stage=Stage.BACKWARD, suspects=("keras",), node=None, api="keras.ops.logaddexp",
        parameters={"x": math.inf}, evidence=("the gradient is NaN on all three targets; the reference says 1",),
    )  # fmt: skip
    rounding = [finding(f"p{index}", Class.PRECISION, Kind.PRECISION) for index in range(11)]
    return hunt(findings=(*rounding, *defects, shared, finding("f1", Class.FLAKY)))


def hostile() -> Facts:
    first = LayerDeviation(
        HOSTILE, 0, HOSTILE, math.inf, math.nan, True, -math.inf, (HOSTILE,), {HOSTILE: [HOSTILE, math.nan]}
    )
    second = LayerDeviation("fine", 0, "Dense", 1.0, 1.0, False, 1.0, (first.key, "image"))
    strange_input = ExampleInput(HOSTILE, (), HOSTILE, math.nan)
    end = Example(0, (strange_input,), HOSTILE, False, ((0, math.nan),), ((0, math.inf),))
    pair = Comparison(
        TF, HOSTILE, HOSTILE, Verdict(Judgement.FAIL, (TF, HOSTILE), HOSTILE), 3, math.nan, math.inf,
        layers=(first, second), example=end,
    )  # fmt: skip
    strange = finding(
        "evil", suspects=(HOSTILE,), node=HOSTILE, api=None, parameters={HOSTILE: HOSTILE}, evidence=(HOSTILE,)
    )
    return compare(
        subject=HOSTILE,
        targets=(
            TargetFacts(TF),
            TargetFacts(HOSTILE, {HOSTILE: HOSTILE}, "raised", HOSTILE, flags={HOSTILE: HOSTILE}),
        ),
        comparisons=(pair,),
        findings=(strange,),
        notes=(HOSTILE,),
        phases={HOSTILE: 1.0},
        training=Training(
            2,
            1e-3,
            {TF: (math.nan, 1.0), HOSTILE: (math.inf, -math.inf)},
            (math.inf, 0.0),
            (Parting(TF, HOSTILE, 1, HOSTILE, math.inf),),
            (LayerDrift(HOSTILE, HOSTILE, math.inf, TF, HOSTILE, 1),),
        ),
        high_precision=HighPrecision(HOSTILE, (0,), (OutputDeviation(HOSTILE, HOSTILE, math.nan, math.inf),)),
    )


def installed() -> Facts:
    missing = TargetFacts(
        "onnxruntime", status="missing", reason="onnxruntime is not installed", install="pip install onnxruntime"
    )
    available = tuple(TargetFacts(target.name, target.versions, "available") for target in targets())
    return Facts("targets", 0, (*available, missing), {"seconds": 0.4})


def sick() -> Facts:
    broken = TargetFacts(TORCH, status="broken", reason="Traceback (most recent call last):\nImportError: libc10.so")
    return Facts("doctor", 0, (TargetFacts(TF, _VERSIONS[TF], "available"), broken), {})


def replayed() -> Facts:
    return Facts("replay", 0, targets(), {"cases": 1, "seconds": 2.0}, (finding(),), subject="findings/7f3a/case.zip")


_COMPARED = (all_pass, one_defect, many_layers, cells_of_a_thousand, not_decided, crash, trained, hostile)
_OTHERS = (hunt_none, hunt_findings, installed, sick, replayed)
SAMPLES: dict[str, Callable[[], Facts]] = {build.__name__: build for build in (*_COMPARED, *_OTHERS)}


@pytest.fixture(params=sorted(SAMPLES))
def any_facts(request: pytest.FixtureRequest) -> Facts:
    return SAMPLES[request.param]()


@pytest.fixture
def sample() -> Callable[[str], Facts]:
    """Facts by the name of a sample."""
    return lambda name: SAMPLES[name]()
