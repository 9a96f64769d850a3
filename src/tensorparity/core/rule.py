"""The form of a rule: what must not matter to a case, and so makes an equivalence of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from .case import ApiCall, Case, Counterpart
from .registry import Registry


class Agreement(Enum):
    """How much of two answers must agree."""

    ROUNDING = "rounding"
    """Up to what rounding explains: the two sides compute in another order."""
    BITS = "bits"
    """Every bit, signs of zeros included: nothing is computed differently."""
    FORM = "form"
    """Shapes and dtypes: one side computes nothing."""


@dataclass(frozen=True)
class Demands:
    """What a rule promises of the two answers.

    Args:
        dtypes: they are of one dtype.
        within: differences up to this many are promised by nobody (a grey level).
        optional: the second side may be refused: not every function has that form. A refusal is then unsupported.
        truth: which side is run in float64 to see who is wrong: the first (0) or the second (1).
        accused: the only side that can be wrong; any of the two where it is None.
        narrow: the second side is of a narrower type; what leaves its range is left out.
        relative: differences up to this share of the largest number are promised by nobody.
        decibels: two pictures need to be no closer than this peak signal-to-noise ratio; 0 where that says nothing.
        only: of the answers, those whose names begin so.
        freedoms: what libraries leave open of the functions may differ between the two sides.
        lacking: a way of running may be lacking, in words that of plain calls would be a fault.
        refusing: a pattern of the words in which the second side may be refused.
        otherwise: the two sides compute in ways of their own: where no run of more digits says which is right, NaN and
            infinities of one side alone blame nobody.
    """

    agreement: Agreement = Agreement.ROUNDING
    dtypes: bool = True
    within: float = 0.0
    optional: bool = False
    truth: int = 0
    accused: int | None = None
    narrow: bool = False
    relative: float = 0.0
    decibels: float = 0.0
    only: str = ""
    freedoms: bool = True
    lacking: bool = True
    refusing: str = ""
    otherwise: bool = False


class Rule(Protocol):
    """An equivalence, by name; one that has ``demands`` says how much of the answers must agree.

    The engine ``eagle`` holds it against the calls that a library accepts; one that has ``applies(api)`` says of which
    public functions, one that has ``derivative`` up to which order gradients must agree as well.

    One that cannot tell the other side from the first alone has ``again(case)``, which is given both; one that stands
    on what is documented of a function has ``said(case)``, its words.
    """

    name: str

    def counterpart(self, case: Case) -> Counterpart | None:
        """The other side of a case; None where the rule does not apply. Called anew on every reduced case."""
        ...


_EQUIVALENCES = "tensorparity.generators.equivalences"

#: Our rules, by name: the module that each stands in and its name there.
_OURS: dict[str, str] = {
    "tf.function": f"{_EQUIVALENCES}.optimization:TF_FUNCTION",
    "tf.function-captured": f"{_EQUIVALENCES}.optimization:TF_FUNCTION_CAPTURED",
    "xla": f"{_EQUIVALENCES}.optimization:XLA",
    "xla-captured": f"{_EQUIVALENCES}.optimization:XLA_CAPTURED",
    "inductor": f"{_EQUIVALENCES}.optimization:INDUCTOR",
    "inductor-captured": f"{_EQUIVALENCES}.optimization:INDUCTOR_CAPTURED",
    "aot-eager": f"{_EQUIVALENCES}.optimization:AOT_EAGER",
    "aot-eager-captured": f"{_EQUIVALENCES}.optimization:AOT_EAGER_CAPTURED",
    "jit-trace": f"{_EQUIVALENCES}.optimization:JIT_TRACE",
    "jit-trace-captured": f"{_EQUIVALENCES}.optimization:JIT_TRACE_CAPTURED",
    "jax-jit": f"{_EQUIVALENCES}.optimization:JAX_JIT",
    "jax-jit-captured": f"{_EQUIVALENCES}.optimization:JAX_JIT_CAPTURED",
    "keras-jit-compile": f"{_EQUIVALENCES}.optimization:KERAS_JIT",
    "keras-jit-compile-captured": f"{_EQUIVALENCES}.optimization:KERAS_JIT_CAPTURED",
    "explicit-padding": f"{_EQUIVALENCES}.explicit_padding:EXPLICIT_PADDING",
    "higher-dimension": f"{_EQUIVALENCES}.higher_dimension:HIGHER_DIMENSION",
    "depthwise-by-conv": f"{_EQUIVALENCES}.depthwise_by_conv:DEPTHWISE_BY_CONV",
    "separable-by-depthwise": f"{_EQUIVALENCES}.separable_by_depthwise:SEPARABLE_BY_DEPTHWISE",
    "dilated-by-conv": f"{_EQUIVALENCES}.dilated_by_conv:DILATED_BY_CONV",
    "documented-formula": f"{_EQUIVALENCES}.documented_formula:DOCUMENTED_FORMULA",
    "sparse-twin": f"{_EQUIVALENCES}.dense_and_sparse:SPARSE_TWIN",
    "sparse-coo": f"{_EQUIVALENCES}.dense_and_sparse:SPARSE_COO",
    "sparse-csr": f"{_EQUIVALENCES}.dense_and_sparse:SPARSE_CSR",
    "normalised-image": f"{_EQUIVALENCES}.normalised_image:NORMALISED_IMAGE",
    "time-major": f"{_EQUIVALENCES}.time_major:TIME_MAJOR",
    "dataset": f"{_EQUIVALENCES}.dataset:DATASET",
    "cast-float32-float64": f"{_EQUIVALENCES}.dtype_casts:FLOAT32_FLOAT64",
    "cast-float16-float32": f"{_EQUIVALENCES}.dtype_casts:FLOAT16_FLOAT32",
    "cast-bfloat16-float32": f"{_EQUIVALENCES}.dtype_casts:BFLOAT16_FLOAT32",
    "cast-int8-int16": f"{_EQUIVALENCES}.dtype_casts:INT8_INT16",
    "cast-int16-int32": f"{_EQUIVALENCES}.dtype_casts:INT16_INT32",
    "cast-int32-int64": f"{_EQUIVALENCES}.dtype_casts:INT32_INT64",
    "cast-uint8-int32": f"{_EQUIVALENCES}.dtype_casts:UINT8_INT32",
    "cast-int64-float64": f"{_EQUIVALENCES}.dtype_casts:INT64_FLOAT64",
    "promoted-int32-float16": f"{_EQUIVALENCES}.promotion:INT32_FLOAT16",
    "promoted-int64-float32": f"{_EQUIVALENCES}.promotion:INT64_FLOAT32",
    "promoted-uint8-int8": f"{_EQUIVALENCES}.promotion:UINT8_INT8",
    "promoted-float16-bfloat16": f"{_EQUIVALENCES}.promotion:FLOAT16_BFLOAT16",
    "encode-decode": f"{_EQUIVALENCES}.encode_decode:ENCODE_DECODE",
    "pad-unpad": f"{_EQUIVALENCES}.pad_unpad:PAD_UNPAD",
    "vmap": f"{_EQUIVALENCES}.ways:VMAP",
    "lax-map": f"{_EQUIVALENCES}.ways:LAX_MAP",
    "checkpoint": f"{_EQUIVALENCES}.ways:CHECKPOINT",
    "out": f"{_EQUIVALENCES}.ways:OUT",
    "out-with-gaps": f"{_EQUIVALENCES}.ways:OUT_WITH_GAPS",
    "out-resized": f"{_EQUIVALENCES}.ways:OUT_RESIZED",
    "out-wider": f"{_EQUIVALENCES}.ways:OUT_WIDER",
    "meta": f"{_EQUIVALENCES}.ways:META",
    "fake": f"{_EQUIVALENCES}.ways:FAKE",
    "symbolic": f"{_EQUIVALENCES}.ways:SYMBOLIC",
    "any-size": f"{_EQUIVALENCES}.ways:ANY_SIZE",
    "symbolic-batch": f"{_EQUIVALENCES}.ways:SYMBOLIC_BATCH",
    "symbolic-open": f"{_EQUIVALENCES}.ways:SYMBOLIC_OPEN",
    "dynamic": f"{_EQUIVALENCES}.ways:DYNAMIC",
    "functional": f"{_EQUIVALENCES}.ways:FUNCTIONAL",
    "export": f"{_EQUIVALENCES}.ways:EXPORT",
    "saved-function": f"{_EQUIVALENCES}.ways:SAVED",
    "batches-of-1": f"{_EQUIVALENCES}.batch_size:BATCHES_OF_1",
    "batches-of-3": f"{_EQUIVALENCES}.batch_size:BATCHES_OF_3",
    "save-keras": f"{_EQUIVALENCES}.save_and_load:KERAS_FILE",
    "save-h5": f"{_EQUIVALENCES}.save_and_load:KERAS_H5",
    "save-weights": f"{_EQUIVALENCES}.save_and_load:KERAS_WEIGHTS",
    "from-config": f"{_EQUIVALENCES}.save_and_load:KERAS_CONFIG",
    "clone-model": f"{_EQUIVALENCES}.save_and_load:KERAS_CLONE",
    "to-json": f"{_EQUIVALENCES}.save_and_load:KERAS_JSON",
    "state-dict": f"{_EQUIVALENCES}.save_and_load:STATE_DICT",
    "torch-save": f"{_EQUIVALENCES}.save_and_load:PICKLE",
    "deep-copy": f"{_EQUIVALENCES}.save_and_load:DEEP_COPY",
    "module-export": f"{_EQUIVALENCES}.save_and_load:MODULE_EXPORT",
    "export-onnx": f"{_EQUIVALENCES}.exported_models:EXPORT_ONNX",
    "export-saved-model": f"{_EQUIVALENCES}.exported_models:EXPORT_SAVED_MODEL",
    "export-openvino": f"{_EQUIVALENCES}.exported_models:EXPORT_OPENVINO",
    "export-litert": f"{_EQUIVALENCES}.exported_models:EXPORT_LITERT",
    "export-torch": f"{_EQUIVALENCES}.exported_models:EXPORT_TORCH",
    "whole-keras": f"{_EQUIVALENCES}.lives:WHOLE_KERAS",
    "whole-h5": f"{_EQUIVALENCES}.lives:WHOLE_H5",
    "model-keras": f"{_EQUIVALENCES}.lives:MODEL_KERAS",
    "model-config": f"{_EQUIVALENCES}.lives:MODEL_CONFIG",
    "model-clone": f"{_EQUIVALENCES}.lives:MODEL_CLONE",
    "model-json": f"{_EQUIVALENCES}.lives:MODEL_JSON",
    "model-weights": f"{_EQUIVALENCES}.lives:MODEL_WEIGHTS",
    "evaluated-by-7": f"{_EQUIVALENCES}.lives:EVALUATED_BY_7",
    "evaluated-by-100": f"{_EQUIVALENCES}.lives:EVALUATED_BY_100",
    "optimizer-state": f"{_EQUIVALENCES}.optimizer_states:OPTIMIZER_STATE",
    "optimizer-copy": f"{_EQUIVALENCES}.optimizer_states:OPTIMIZER_COPY",
    "optimizer-file": f"{_EQUIVALENCES}.optimizer_states:OPTIMIZER_FILE",
    "optimizer-foreach": f"{_EQUIVALENCES}.optimizer_states:OPTIMIZER_FOREACH",
    "optimizer-fused": f"{_EQUIVALENCES}.optimizer_states:OPTIMIZER_FUSED",
    "strided": f"{_EQUIVALENCES}.memory:STRIDED",
    "turned": f"{_EQUIVALENCES}.memory:TURNED",
    "shifted": f"{_EQUIVALENCES}.memory:SHIFTED",
    "channels-last-memory": f"{_EQUIVALENCES}.memory:CHANNELS_LAST",
    "expanded": f"{_EQUIVALENCES}.memory:EXPANDED",
    "by-element": f"{_EQUIVALENCES}.by_element:BY_ELEMENT",
    "without-axes": f"{_EQUIVALENCES}.by_element:WITHOUT_AXES",
    "among-others": f"{_EQUIVALENCES}.by_element:AMONG_OTHERS",
    "row-by-row": f"{_EQUIVALENCES}.by_element:ROW_BY_ROW",
    "of-nothing": f"{_EQUIVALENCES}.by_element:OF_NOTHING",
    "in-place": f"{_EQUIVALENCES}.in_place:IN_PLACE",
    "defaults-written": f"{_EQUIVALENCES}.other_words:DEFAULTS",
    "alias": f"{_EQUIVALENCES}.other_words:ALIAS",
    "axis-from-the-end": f"{_EQUIVALENCES}.other_axes:AXIS_FROM_THE_END",
    "other-name": f"{_EQUIVALENCES}.other_words:OTHER_NAME",
    "method": f"{_EQUIVALENCES}.other_words:METHOD",
    "network-eagerly": f"{_EQUIVALENCES}.whole_networks:EAGERLY",
    "network-traced": f"{_EQUIVALENCES}.whole_networks:TRACED",
    "network-jit-compile": f"{_EQUIVALENCES}.whole_networks:COMPILED",
    "network-saved-and-jit": f"{_EQUIVALENCES}.whole_networks:SAVED_COMPILED",
    "network-cloned-and-jit": f"{_EQUIVALENCES}.whole_networks:CLONED_COMPILED",
    "network-batches-and-jit": f"{_EQUIVALENCES}.whole_networks:BATCHED_COMPILED",
    "network-saved-and-batches": f"{_EQUIVALENCES}.whole_networks:SAVED_BATCHES",
    "network-configured-and-eager": f"{_EQUIVALENCES}.whole_networks:CONFIGURED_EAGERLY",
    "fed-dataset": f"{_EQUIVALENCES}.fed_models:FED_DATASET",
    "fed-loader": f"{_EQUIVALENCES}.fed_models:FED_LOADER",
    "fed-pydataset": f"{_EQUIVALENCES}.fed_models:FED_PYDATASET",
    "fed-generator": f"{_EQUIVALENCES}.fed_models:FED_GENERATOR",
    "other-backends": f"{_EQUIVALENCES}.other_backends:OTHER_BACKENDS",
    "function-body": f"{_EQUIVALENCES}.onnx_operators:FUNCTION_BODY",
    "other-runtimes": f"{_EQUIVALENCES}.onnx_operators:OTHER_RUNTIMES",
    "random-properties": f"{_EQUIVALENCES}.random_properties:RANDOM_PROPERTIES",
    "direct-counterparts": f"{_EQUIVALENCES}.direct_counterparts:DIRECT_COUNTERPARTS",
    "numpy-twin": f"{_EQUIVALENCES}.numpy_twin:NUMPY_TWIN",
    "slopes": f"{_EQUIVALENCES}.other_gradients:SLOPES",
    "forward-mode": f"{_EQUIVALENCES}.other_gradients:FORWARD_MODE",
    "inverse-pairs": f"{_EQUIVALENCES}.inverse_pairs:INVERSE_PAIRS",
    "exact-inverses": f"{_EQUIVALENCES}.inverse_pairs:EXACT_INVERSES",
    "data-format": f"{_EQUIVALENCES}.data_format:DATA_FORMAT",
    "encode-decode-lossy": f"{_EQUIVALENCES}.lossy_pictures:LOSSY",
    "encode-decode-ours": f"{_EQUIVALENCES}.our_pictures:OUR_PICTURES",
    "configuration": f"{_EQUIVALENCES}.configurations:CONFIGURATION",
    "configured-again": f"{_EQUIVALENCES}.configurations:CONFIGURED_AGAIN",
    "turned-and-traced": f"{_EQUIVALENCES}.combined:TURNED_TRACED",
    "strided-and-aot": f"{_EQUIVALENCES}.combined:STRIDED_AOT",
    "shifted-and-aot": f"{_EQUIVALENCES}.combined:SHIFTED_AOT",
    "vmap-and-turned": f"{_EQUIVALENCES}.combined:VMAP_TURNED",
    "vmap-and-jit": f"{_EQUIVALENCES}.combined:VMAP_JIT",
    "jit-and-checkpoint": f"{_EQUIVALENCES}.combined:JIT_CHECKPOINT",
    "vmap-and-tf.function": f"{_EQUIVALENCES}.combined:VMAP_GRAPH",
    "padding-and-tf.function": f"{_EQUIVALENCES}.combined:PADDING_GRAPH",
    "padding-and-xla": f"{_EQUIVALENCES}.combined:PADDING_XLA",
    "padding-and-jit": f"{_EQUIVALENCES}.combined:PADDING_JIT",
    "padding-and-aot": f"{_EQUIVALENCES}.combined:PADDING_AOT",
    "dimension-and-aot": f"{_EQUIVALENCES}.combined:DIMENSION_AOT",
    "dimension-and-jit": f"{_EQUIVALENCES}.combined:DIMENSION_JIT",
    "dilated-and-xla": f"{_EQUIVALENCES}.combined:DILATED_XLA",
    "depthwise-and-xla": f"{_EQUIVALENCES}.combined:DEPTHWISE_XLA",
    "time-major-and-traced": f"{_EQUIVALENCES}.combined:TIME_TRACED",
    "formula-and-jit": f"{_EQUIVALENCES}.combined:FORMULA_JIT",
    "formula-and-xla": f"{_EQUIVALENCES}.combined:FORMULA_XLA",
    "formula-and-aot": f"{_EQUIVALENCES}.combined:FORMULA_AOT",
}

RULES: Registry[Rule] = Registry("rule", _OURS)


def demands_of(name: str) -> Demands:
    """What a rule promises; of one that says nothing, or is not known, agreement up to rounding."""
    return getattr(RULES.get(name), "demands", Demands()) if name in RULES else Demands()


def documented_words(case: Case) -> str:
    """What the rule of an equivalence quotes of the function's documentation; empty where it quotes nothing."""
    rule = case.counterpart.rule if case.counterpart is not None else ""
    said: Callable[[Case], str] | None = getattr(RULES.get(rule), "said", None) if rule in RULES else None
    return said(case) if said is not None else ""


def is_fixed(case: Case) -> bool:
    """Nothing of it may be changed: what its call should give is known of these inputs alone, or no rule can make the
    other side of an equivalence anew.
    """
    if isinstance(case.subject, ApiCall) and case.labels:
        return True
    return case.counterpart is not None and case.counterpart.rule not in RULES


def with_counterpart(case: Case) -> Case | None:
    """An equivalence whose other side fits again, by the rule that made it; None where the rule does not apply.

    Any other case is what it is.
    """
    if case.counterpart is None or is_fixed(case):
        return case
    rule = case.counterpart.rule
    again: Callable[[Case], Case | None] | None = getattr(RULES.get(rule), "again", None)
    if again is not None:
        return again(case)
    other = RULES.get(rule).counterpart(replace(case, counterpart=None))
    return replace(case, counterpart=replace(other, rule=rule)) if other is not None else None
