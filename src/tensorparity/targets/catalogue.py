"""The table of targets: which adapter runs them, which libraries they need, how to get those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..core.errors import UnknownTargetError
from ..core.registry import Registry
from .names import TargetName


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """What there is to know of a target before it is started.

    Args:
        adapter: module name under ``worker/adapters``, or the path of a third party's adapter file.
        distributions: what pip calls the libraries it needs; the first is the one under test.
        extra: the extra of our own package that installs them.
        environment: variables its worker is always started with.
        lowering: the form a LayerGraph is turned into before it is sent (``onnx``), if any.
        family: implementations that share code count as one vote; this names the sharers.
        hunted: part of ``hunt``'s and ``compare``'s default set where installed.
    """

    name: str
    adapter: str
    distributions: tuple[str, ...]
    extra: str
    summary: str
    environment: Mapping[str, str] = field(default_factory=dict)
    lowering: str | None = None
    family: str = ""
    hunted: bool = True


def _keras(backend: str, library: str) -> TargetSpec:
    return TargetSpec(
        name=f"keras:{backend}",
        adapter="keras3",
        distributions=("keras", library),
        extra=backend,
        summary=f"Keras 3 on {library}",
        environment={"KERAS_BACKEND": backend},
        family="keras",
    )


KERAS_TENSORFLOW = _keras("tensorflow", "tensorflow")
KERAS_JAX = _keras("jax", "jax")
KERAS_TORCH = _keras("torch", "torch")
ONNXRUNTIME = TargetSpec(
    name="onnxruntime",
    adapter="onnx_runtime",
    distributions=("onnxruntime",),
    extra="onnx",
    summary="ONNX Runtime on the CPU, forward only",
    lowering="onnx",
    family="onnxruntime",
)
TORCH_EAGER = TargetSpec(
    name="torch:eager",
    adapter="pytorch",
    distributions=("torch",),
    extra="torch",
    summary="native PyTorch calls",
    family="torch",
    hunted=False,
)

TARGETS: Registry[TargetSpec] = Registry(
    "target",
    {
        "keras:tensorflow": f"{__name__}:KERAS_TENSORFLOW",
        "keras:jax": f"{__name__}:KERAS_JAX",
        "keras:torch": f"{__name__}:KERAS_TORCH",
        "onnxruntime": f"{__name__}:ONNXRUNTIME",
        "torch:eager": f"{__name__}:TORCH_EAGER",
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


def install_hint(spec: TargetSpec) -> str:
    return f"pip install 'tensorparity[{spec.extra}]'"
