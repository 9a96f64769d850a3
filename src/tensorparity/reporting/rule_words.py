"""What equivalence rules are called in titles and evidence: the other side of each, as a phrase about the same call."""

from __future__ import annotations

from typing import Any

#: By rule, or by its short name in a combination of two: "the same call ...".
_OTHER_SIDE: dict[str, str] = {
    "by-element": "element by element",
    "without-axes": "on each element as a tensor without axes",
    "among-others": "with other elements around them",
    "row-by-row": "row by row",
    "of-nothing": "with zero rows",
    "strided": "on strided memory",
    "turned": "on memory with its axes in a different order",
    "shifted": "on memory at a different offset",
    "expanded": "on expanded memory",
    "channels-last-memory": "on memory with its channels last",
    "vmap": "mapped by vmap",
    "lax-map": "mapped by lax.map",
    "checkpoint": "under jax.checkpoint",
    "out": "with out=",
    "out-with-gaps": "with an out= that has gaps",
    "out-resized": "with an empty out=",
    "out-wider": "with an out= of a wider type",
    "in-place": "in place",
    "meta": "on the meta device",
    "fake": "on fake tensors",
    "symbolic": "on symbolic inputs",
    "symbolic-batch": "on symbolic inputs with an open batch axis",
    "symbolic-open": "on symbolic inputs with open sizes",
    "dynamic": "compiled for any size",
    "optimizer-foreach": "with all parameters updated at once",
    "optimizer-fused": "with a fused step",
    "any-size": "traced for any size",
    "functional": "as a functional model",
    "export": "exported",
    "saved-function": "saved and loaded",
    "inductor": "compiled by inductor",
    "aot-eager": "compiled by aot_eager",
    "jit-trace": "traced by torch.jit.trace",
    "tf.function": "in a tf.function",
    "xla": "compiled by XLA",
    "jax-jit": "under jax.jit",
    "keras-jit-compile": "with jit_compile=True",
    "slopes": "by finite differences in float64",
    "forward-mode": "in forward mode",
    "defaults-written": "with its defaults written out",
    "axis-from-the-end": "with its axes counted from the other end",
    "alias": "by its documented alias",
    "other-name": "by its other public name",
    "method": "as a method",
    "numpy-twin": "in NumPy",
    "explicit-padding": "with padding applied beforehand",
    "higher-dimension": "with one more dimension",
    "depthwise-by-conv": "by ordinary convolutions",
    "separable-by-depthwise": "by a depthwise convolution and one of size 1",
    "dilated-by-conv": "by a kernel with zeros inserted",
    "documented-formula": "by its formula in plain operations",
    "sparse-coo": "on sparse tensors (COO)",
    "sparse-csr": "on sparse tensors (CSR)",
    "sparse-twin": "by its sparse twin",
    "normalised-image": "on the image between 0 and 1",
    "time-major": "with time first",
    "dataset": "through a data set",
    "data-format": "in the other data format",
    "batches-of-1": "in batches of 1",
    "batches-of-3": "in batches of 3",
    "export-onnx": "exported to ONNX",
    "export-saved-model": "exported to a SavedModel",
    "export-openvino": "exported to OpenVINO",
    "export-litert": "exported to LiteRT",
    "export-torch": "exported to torch",
    "fed-dataset": "fed by a tf.data.Dataset",
    "fed-loader": "fed by a DataLoader",
    "fed-pydataset": "fed by a PyDataset",
    "fed-generator": "fed by a generator",
    "network-jit-compile": "with jit_compile=True",
    "other-backends": "on another backend",
}
#: How combinations of rules call their parts.
_SHORT = {
    "aot": "aot-eager",
    "jit": "jax-jit",
    "traced": "jit-trace",
    "padding": "explicit-padding",
    "dimension": "higher-dimension",
    "dilated": "dilated-by-conv",
    "depthwise": "depthwise-by-conv",
    "formula": "documented-formula",
    "time": "time-major",
}
_CAPTURED, _AND, _CAST = "-captured", "-and-", "cast-"
_BY_KIND = {
    "shape": "gives a different shape from",
    "dtype": "gives a different dtype from",
    "nan": "differs in NaN or infinity from",
}


def other_side(rule: str) -> str:
    """The other side of a rule, behind "the same call"; empty where the rule is about something else."""
    if rule in _OTHER_SIDE:
        return _OTHER_SIDE[rule]
    if rule in _SHORT:
        return _OTHER_SIDE[_SHORT[rule]]
    if rule.startswith(_CAST):
        return f"in {rule.split('-')[1]}"
    if rule.endswith(_CAPTURED):
        inner = other_side(rule.removesuffix(_CAPTURED))
        return f"{inner}, its inputs as constants" if inner else ""
    if _AND in rule:
        parts = [other_side(part) for part in rule.split(_AND)]
        return ", ".join(parts) if all(parts) else ""
    return ""


def rule_symptom(rule: str, differs: dict[str, Any]) -> str:
    """What a function does that breaks a rule.

    Args:
        differs: what was observed of where the two sides differ; may be empty.
    """
    other = other_side(rule)
    if not other:
        return f"gives a different result from an equivalent computation{f' by the rule {rule!r}' if rule else ''}"
    kind, wrong = str(differs.get("kind", "")), differs.get("wrong")
    if kind == "error":
        return f"raises where the same call {other} does not" if wrong == 0 else f"raises {other}, and only there"
    if str(differs.get("name", "")).startswith("gradient:"):
        return (
            f"gives a wrong gradient {other}" if wrong == 1 else f"has a different gradient from the same call {other}"
        )
    if wrong == 1 and kind not in _BY_KIND:
        return f"gives wrong numbers {other}"
    return f"{_BY_KIND.get(kind, 'gives different numbers from')} the same call {other}"
