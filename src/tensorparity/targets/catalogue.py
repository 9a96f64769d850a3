"""The table of targets: which adapter runs them, which libraries they need, how to get those, and their traits.

What the host does differently for one target than for another stands here, as traits; no other module asks for names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..core.case import EXPORTED_ONNX
from ..core.errors import UnknownTargetError
from ..core.machine_settings import Setting
from ..core.near_misses import meant
from ..core.procedure import Goal
from ..core.registry import Registry
from ..core.traits import TargetTraits, Traits, base_name
from ..operators.reference import tolerances
from .names import TargetName


@dataclass(frozen=True, slots=True)
class AdapterChoice:
    """An adapter for some versions of a library, where one target name stands for several generations of it.

    Args:
        adapter: module name under ``worker/adapters``, or the path of a third party's adapter file.
        distribution: what pip calls the library whose version decides.
        versions: the range it is for, such as ``>=2.3,<3``; empty for any.
    """

    adapter: str
    distribution: str
    versions: str = ""

    def __str__(self) -> str:
        return f"{self.distribution}{self.versions}"


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """What there is to know of a target before it is started.

    Args:
        adapter: module name under ``worker/adapters``, or the path of a third party's adapter file; or several of which
            the first is taken whose library its environment holds.
        distributions: what pip calls the libraries it needs; the first is the one under test.
        extra: the extra of our own package that installs them; empty for a plug-in, which brings them itself.
        environment: variables its worker is always started with.
        traits: what the host does differently for it; by default nothing.
    """

    name: str
    adapter: str | tuple[AdapterChoice, ...]
    distributions: tuple[str, ...] = ()
    extra: str = ""
    summary: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    traits: TargetTraits = TargetTraits("")

    def __post_init__(self) -> None:
        if self.traits.name != self.name:
            object.__setattr__(self, "traits", replace(self.traits, name=self.name))


#: Keras keeps float64 on TensorFlow alone: elsewhere its rules of promotion force 64 bits to 32 ("Force to be 32-bit
#: dtype when encountering 64-bit dtype", ``keras.backend.result_type``), so what it computes has float32's digits. JAX
#: keeps to float32 unless a process is told otherwise.
_NARROWED = {"float64": "float32"}


#: oneDNN computes for TensorFlow, torch and OpenVINO; which kernels it and ATen take depends on the instruction set.
_TWO_THREADS = Setting("threads", "2")
_ONEDNN = (Setting("ONEDNN_MAX_CPU_ISA", "SSE41"), _TWO_THREADS, Setting("ONEDNN_MAX_CPU_ISA", "AVX2"))
_TENSORFLOW = (Setting("TF_ENABLE_ONEDNN_OPTS", "0"), Setting("TF_ENABLE_ONEDNN_OPTS", "1"), *_ONEDNN)
_ATEN = (Setting("ATEN_CPU_CAPABILITY", "default"), *_ONEDNN, Setting("ATEN_CPU_CAPABILITY", "avx2"))
#: By library, what is tried.
_SETTINGS: Mapping[str, tuple[Setting, ...]] = {
    "tensorflow": _TENSORFLOW,
    "torch": _ATEN,
    "openvino": _ONEDNN,
    "jax": (_TWO_THREADS,),
    "onnxruntime": (_TWO_THREADS,),
}


def _keras(backend: str, library: str, rank: int = 100) -> TargetSpec:
    return TargetSpec(
        name=f"keras:{backend}",
        adapter="keras3",
        distributions=("keras", library),
        extra=backend,
        summary=f"Keras 3 on {library}",
        environment={"KERAS_BACKEND": backend},
        traits=TargetTraits(
            "",
            family="keras",
            library=backend,
            effective_dtypes=_NARROWED,
            documented_dtypes=_NARROWED,
            calls="keras",
            reads=("keras", "h5", "hdf5"),
            start_rank=rank,
            script_writer="keras",
            tolerances=tolerances.KERAS,
            settings=_SETTINGS.get(backend, ()),
        ),
    )


def _with(spec: TargetSpec, **traits: object) -> TargetSpec:
    return replace(spec, traits=replace(spec.traits, **traits))  # type: ignore[arg-type]


# Keras on torch does not compute in float64 throughout: there, the common type of float64 and float32 is float32, so
# that BatchNormalization, for one, is of single precision; JAX would have to be started anew.
KERAS_TENSORFLOW = _with(
    _keras("tensorflow", "tensorflow", 3),
    effective_dtypes={},
    documented_dtypes={},
    high_precision=True,
    training_rank=0,
    gains_by_threads=True,
    exporters={"onnx": ("tf2onnx",)},
)
KERAS_JAX = _with(_keras("jax", "jax", 6), unoptimized_eager=True, training_rank=1)
KERAS_TORCH = _with(_keras("torch", "torch", 2), training_rank=2, exporters={"onnx": ("onnx",)})
#: Keras on NumPy convolves, pools and transforms with JAX (``nn.py`` and ``math.py`` of that backend), also
#: inside of other layers; everything else is NumPy's own, adaptive and global pooling among it.
_CONVOLVING = ("Conv", "DepthwiseConv", "SeparableConv", "ConvLSTM")
_WITH_JAX = (
    *(f"{kind}{dims}D" for kind in (*_CONVOLVING, "MaxPooling", "AveragePooling") for dims in (1, 2, 3)),
    *(f"Conv{dims}DTranspose" for dims in (1, 2, 3)),
    *("STFTSpectrogram", "MelSpectrogram", "TimeDistributed", "SpectralNormalization", "Bidirectional"),
    *("conv1d", "conv2d", "conv3d", "depthwise_conv2d", "conv1d_transpose", "conv2d_transpose", "conv3d_transpose"),
    *("max_pool1d", "pooling", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"),
    *(f"keras.ops.{name}" for name in ("conv", "depthwise_conv", "separable_conv", "conv_transpose")),
    *(f"keras.ops.{name}" for name in ("max_pool", "average_pool", "stft", "istft", "rfft", "irfft", "fft", "fft2")),
)
# OpenVINO's backend compiles every operation of its own, and borrows no kernel.
KERAS_NUMPY = _with(
    replace(_keras("numpy", "jax"), extra="jax", summary="Keras 3 on NumPy, forward only: an arbiter"),
    shared_kernels=dict.fromkeys(_WITH_JAX, "jax"),
    arbiter=True,
    max_goal=Goal.FORWARD,
    default=False,
    searched=True,
)
KERAS_OPENVINO = _with(
    replace(_keras("openvino", "openvino", 5), summary="Keras 3 on OpenVINO, forward only"),
    max_goal=Goal.FORWARD,
    compiled=True,
    default=False,
    searched=True,
    alone=True,
)
_ONNX = TargetTraits(
    "",
    max_goal=Goal.FORWARD,
    lowering="onnx",
    calls="onnx",
    reads=("onnx", EXPORTED_ONNX),
    script_writer="onnx",
)
ONNXRUNTIME = TargetSpec(
    name="onnxruntime",
    adapter="onnx_runtime",
    distributions=("onnxruntime",),
    extra="onnx",
    summary="ONNX Runtime on the CPU, forward only",
    traits=replace(
        _ONNX,
        family="onnxruntime",
        library="onnxruntime",
        witness=True,
        start_rank=0,
        tolerances=tolerances.ONNXRUNTIME,
        settings=_SETTINGS["onnxruntime"],
    ),
)
OPENVINO = TargetSpec(
    name="openvino",
    adapter="open_vino",
    distributions=("openvino",),
    extra="openvino",
    summary="OpenVINO on the CPU, forward only, in float32",
    traits=replace(_ONNX, family="openvino", library="openvino", start_rank=4, settings=_SETTINGS["openvino"]),
)
ONNX_REFERENCE = TargetSpec(
    name="onnx:reference",
    adapter="onnx_reference",
    distributions=("onnx",),
    extra="onnx",
    summary="the ONNX project's reference evaluator: slow, an arbiter",
    traits=replace(_ONNX, family="onnx", library="onnx", arbiter=True, default=False, tolerances=tolerances.ONNX),
)
_MOMENTS = ("learning_rate", "beta_1", "beta_2", "epsilon", "clipvalue")
#: What ``torch.optim`` makes the same first step of as Keras, and with which arguments.
_TORCH_OPTIMIZERS = {
    "SGD": ("learning_rate", "momentum", "nesterov", "clipvalue"),
    "Adam": (*_MOMENTS, "amsgrad", "weight_decay"),
    "AdamW": (*_MOMENTS, "amsgrad", "weight_decay"),
    "Adagrad": ("learning_rate", "initial_accumulator_value", "epsilon", "clipvalue"),
    "Adadelta": ("learning_rate", "rho", "epsilon", "clipvalue"),
    "Adamax": _MOMENTS,
    "Nadam": _MOMENTS,
}
TORCH_EAGER = TargetSpec(
    name="torch:eager",
    adapter="pytorch",
    distributions=("torch",),
    extra="torch",
    summary="PyTorch: layers forward and backward, exported programs and single calls, eagerly",
    traits=TargetTraits(
        "",
        family="torch",
        library="torch",
        max_goal=Goal.GRADIENTS,
        lowering="torch",
        calls="torch",
        reads=("torch",),
        wide_formats=("torch",),
        witness=True,
        default=False,
        start_rank=1,
        exporters={"onnx": ()},
        script_writer="torch",
        tolerances=tolerances.TORCH,
        settings=_SETTINGS["torch"],
        optimizers=_TORCH_OPTIMIZERS,
    ),
)
TORCH_COMPILE = _with(
    replace(
        TORCH_EAGER,
        name="torch:compile",
        summary="PyTorch: layers forward and backward, exported programs and single calls, compiled by inductor",
    ),
    compiled=True,
    witness=False,
    optimizers={},
    wide_formats=(),
    start_rank=100,
)
TENSORFLOW_EAGER = TargetSpec(
    name="tensorflow:eager",
    adapter="native_tensorflow",
    distributions=("tensorflow",),
    extra="tensorflow",
    summary="TensorFlow: single calls",
    traits=TargetTraits(
        "",
        family="tensorflow",
        library="tensorflow",
        max_goal=Goal.CALL,
        calls="tensorflow",
        default=False,
        script_writer="operator",
        tolerances=tolerances.TENSORFLOW,
        settings=_SETTINGS["tensorflow"],
    ),
)
TENSORFLOW_XLA = _with(
    replace(TENSORFLOW_EAGER, name="tensorflow:xla", summary="TensorFlow: single calls compiled by XLA"), compiled=True
)
JAX_EAGER = TargetSpec(
    name="jax:eager",
    adapter="native_jax",
    distributions=("jax",),
    extra="jax",
    summary="JAX: single calls, one operation at a time",
    traits=TargetTraits(
        "",
        family="jax",
        library="jax",
        documented_dtypes=_NARROWED,
        max_goal=Goal.CALL,
        calls="jax",
        default=False,
        script_writer="operator",
        tolerances=tolerances.JAX,
        settings=_SETTINGS["jax"],
    ),
)
JAX_JIT = _with(replace(JAX_EAGER, name="jax:jit", summary="JAX: single calls compiled as a whole"), compiled=True)

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

#: Whose operators Predoo's tables are about.
PAPER_TARGETS = ("tensorflow:eager",)
#: Who exports torch programs to ONNX.
TORCH_EXPORTER = "torch:eager"

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
            f"unknown target {name.base!r}{meant(name.base, TARGETS.names())}; known are {', '.join(TARGETS.names())} "
            "('tensorparity targets' shows which are installed)"
        )
    return TARGETS.get(name.base)


def traits_of(targets: Iterable[str]) -> Traits:
    """The traits of the targets of a run, and of whoever may be asked beside them; unknown names have plain ones."""
    beside = (name for name in TARGETS.names() if _asked_beside(TARGETS.get(name).traits))
    known = {target: TARGETS.get(base) for target in (*beside, *targets) if (base := base_name(target)) in TARGETS}
    return Traits({target: spec.traits for target, spec in known.items()})


def trainers() -> list[str]:
    """Who trains models for us, the one that does it soonest first."""
    ranks = {name: TARGETS.get(name).traits.training_rank for name in TARGETS.names()}
    able = {name: rank for name, rank in ranks.items() if rank is not None}
    return sorted(able, key=lambda name: able[name])


def _asked_beside(traits: TargetTraits) -> bool:
    return traits.arbiter or traits.witness


def install_hint(spec: TargetSpec) -> str:
    return f"pip install 'tensorparity[{spec.extra}]'" if spec.extra else f"pip install {' '.join(spec.distributions)}"
