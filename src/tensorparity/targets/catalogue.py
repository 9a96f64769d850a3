"""The table of targets: which adapter runs them, which libraries they need, how to get those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..core.case import EXPORTED_ONNX
from ..core.errors import UnknownTargetError
from ..core.procedure import Goal
from ..core.registry import Registry
from ..core.traits import TargetTraits, Traits, base_name
from .names import TargetName


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """What there is to know of a target before it is started.

    Args:
        adapter: module name under ``worker/adapters``, or the path of a third party's adapter file.
        distributions: what pip calls the libraries it needs; the first is the one under test.
        extra: the extra of our own package that installs them.
        environment: variables its worker is always started with.
        lowering: the form a LayerGraph is turned into before it is sent (``onnx``, ``torch``), if any.
        calls: the library whose functions it is asked for when a case names an operator; empty for none.
        compiled: compiles every new call, which takes seconds.
        family: implementations that share code count as one vote; this names the sharers.
        arbiter: slow, but asked about single layers where the others disagree and nothing else can tell.
        furthest: how far it goes in a training step; of more, it is asked for as much. Some run single calls only.
        hunted: part of ``hunt``'s and ``compare``'s default set where installed.
    """

    name: str
    adapter: str
    distributions: tuple[str, ...]
    extra: str
    summary: str
    environment: Mapping[str, str] = field(default_factory=dict)
    lowering: str | None = None
    calls: str = ""
    compiled: bool = False
    family: str = ""
    arbiter: bool = False
    furthest: Goal = Goal.UPDATE
    hunted: bool = True


def _keras(backend: str, library: str) -> TargetSpec:
    return TargetSpec(
        name=f"keras:{backend}",
        adapter="keras3",
        distributions=("keras", library),
        extra=backend,
        summary=f"Keras 3 on {library}",
        environment={"KERAS_BACKEND": backend},
        calls="keras",
        family="keras",
    )


KERAS_TENSORFLOW = _keras("tensorflow", "tensorflow")
KERAS_JAX = _keras("jax", "jax")
KERAS_TORCH = _keras("torch", "torch")
# NumPy's backend leans on JAX for convolution and pooling; OpenVINO's compiles every operation of its own.
KERAS_NUMPY = replace(
    _keras("numpy", "jax"),
    extra="jax",
    summary="Keras 3 on NumPy, forward only: an arbiter",
    arbiter=True,
    furthest=Goal.FORWARD,
    hunted=False,
)
KERAS_OPENVINO = replace(
    _keras("openvino", "openvino"),
    summary="Keras 3 on OpenVINO, forward only",
    furthest=Goal.FORWARD,
    compiled=True,
    hunted=False,
)
ONNXRUNTIME = TargetSpec(
    name="onnxruntime",
    adapter="onnx_runtime",
    distributions=("onnxruntime",),
    extra="onnx",
    summary="ONNX Runtime on the CPU, forward only",
    lowering="onnx",
    calls="onnx",
    family="onnxruntime",
    furthest=Goal.FORWARD,
)
OPENVINO = TargetSpec(
    name="openvino",
    adapter="open_vino",
    distributions=("openvino",),
    extra="openvino",
    summary="OpenVINO on the CPU, forward only, in float32",
    lowering="onnx",
    calls="onnx",
    family="openvino",
    furthest=Goal.FORWARD,
)
ONNX_REFERENCE = TargetSpec(
    name="onnx:reference",
    adapter="onnx_reference",
    distributions=("onnx",),
    extra="onnx",
    summary="the ONNX project's reference evaluator: slow, an arbiter",
    lowering="onnx",
    calls="onnx",
    family="onnx",
    arbiter=True,
    furthest=Goal.FORWARD,
    hunted=False,
)
TORCH_EAGER = TargetSpec(
    name="torch:eager",
    adapter="pytorch",
    distributions=("torch",),
    extra="torch",
    summary="PyTorch: layers forward and backward, exported programs and single calls, eagerly",
    lowering="torch",
    calls="torch",
    family="torch",
    furthest=Goal.GRADIENTS,
    hunted=False,
)
TORCH_COMPILE = replace(
    TORCH_EAGER,
    name="torch:compile",
    summary="PyTorch: layers forward and backward, exported programs and single calls, compiled by inductor",
    compiled=True,
)
TENSORFLOW_EAGER = TargetSpec(
    name="tensorflow:eager",
    adapter="native_tensorflow",
    distributions=("tensorflow",),
    extra="tensorflow",
    summary="TensorFlow: single calls",
    calls="tensorflow",
    family="tensorflow",
    furthest=Goal.CALL,
    hunted=False,
)
TENSORFLOW_XLA = replace(
    TENSORFLOW_EAGER, name="tensorflow:xla", summary="TensorFlow: single calls compiled by XLA", compiled=True
)
JAX_EAGER = TargetSpec(
    name="jax:eager",
    adapter="native_jax",
    distributions=("jax",),
    extra="jax",
    summary="JAX: single calls, one operation at a time",
    calls="jax",
    family="jax",
    furthest=Goal.CALL,
    hunted=False,
)
JAX_JIT = replace(JAX_EAGER, name="jax:jit", summary="JAX: single calls compiled as a whole", compiled=True)

TARGETS: Registry[TargetSpec] = Registry(
    "target",
    {
        "keras:tensorflow": f"{__name__}:KERAS_TENSORFLOW",
        "keras:jax": f"{__name__}:KERAS_JAX",
        "keras:torch": f"{__name__}:KERAS_TORCH",
        "keras:numpy": f"{__name__}:KERAS_NUMPY",
        "keras:openvino": f"{__name__}:KERAS_OPENVINO",
        "openvino": f"{__name__}:OPENVINO",
        "onnx:reference": f"{__name__}:ONNX_REFERENCE",
        "onnxruntime": f"{__name__}:ONNXRUNTIME",
        "torch:eager": f"{__name__}:TORCH_EAGER",
        "torch:compile": f"{__name__}:TORCH_COMPILE",
        "tensorflow:eager": f"{__name__}:TENSORFLOW_EAGER",
        "tensorflow:xla": f"{__name__}:TENSORFLOW_XLA",
        "jax:eager": f"{__name__}:JAX_EAGER",
        "jax:jit": f"{__name__}:JAX_JIT",
    },
)

#: One distribution may provide another's modules.
ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tf-nightly"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
}


def spec_of(name: TargetName) -> TargetSpec:
    """The table's entry for a target name.

    Raises:
        UnknownTargetError: naming those that exist.
    """
    if name.base not in TARGETS:
        raise UnknownTargetError(
            f"unknown target {name.base!r}; known are {', '.join(TARGETS.names())} "
            "('tensorparity targets' shows which are installed)"
        )
    return TARGETS.get(name.base)


def traits_of(targets: Iterable[str]) -> Traits:
    """The traits of the targets of a run; unknown names have plain ones."""
    known = {target: TARGETS.get(base) for target in targets if (base := base_name(target)) in TARGETS}
    return Traits({target: _traits(spec) for target, spec in known.items()})


def _traits(spec: TargetSpec) -> TargetTraits:
    reads = ("onnx", EXPORTED_ONNX) if spec.lowering == "onnx" else ("torch",) if spec.lowering else _KERAS_FILES
    return TargetTraits(
        spec.name,
        family=spec.family,
        library=spec.name.partition(":")[2] if spec.family == "keras" else spec.family,
        max_goal=spec.furthest,
        lowering=spec.lowering,
        calls=spec.calls,
        reads=reads,
        compiled=spec.compiled,
        arbiter=spec.arbiter,
        default=spec.hunted,
    )


_KERAS_FILES = ("keras", "h5")


def install_hint(spec: TargetSpec) -> str:
    return f"pip install 'tensorparity[{spec.extra}]'"
