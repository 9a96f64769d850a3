"""What a parameter may be given: tensors, axes, sizes, flags, names; by signature, documentation and its own name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .constraints import LEFT_OUT, Category, Constraint, merged
from .documentation import Facts
from .listing import Parameter


@dataclass(frozen=True, slots=True)
class Role:
    """How an argument is made.

    Args:
        kind: ``tensor``, ``tensors``, ``number``, ``int``, ``axis``, ``axes``, ``ints``, ``shape``, ``flag``,
            ``choice``, ``dtype``, ``size of``, ``near`` (like the default) or ``literal``.
        data: particulars: dtypes of a tensor, the axis of a size, the choices.
    """

    kind: str
    data: Any = None

    @property
    def is_tensor(self) -> bool:
        return self.kind in ("tensor", "tensors")


INDICES = ("int32", "int64")
_NAMES: tuple[tuple[str, str, Any, float], ...] = (
    (
        r"^(axis|dim|axes|dims|axis\d|dim\d|dimension|dimensions|reduction_indices|batch_dim|seq_dim|source|"
        r"destination|feature_axis|channel_axis|quantized_axis|axisa|axisb|dim_a|dim_b)$",
        "axis",
        None,
        6.0,
    ),
    (r"^(axes|dims|dim|axis|dimensions|reduction_indices)$", "axes", None, 1.5),
    (r"^(perm|permutation)$", "permutation", None, 8.0),
    (
        r"^(shape|newshape|new_shape|output_shape|target_shape|size|out_shape|dense_shape|sizes|dims|broadcast_sizes)$",
        "shape",
        None,
        10.0,
    ),
    (r"(^|_)d?type$|^preferred_element_type$|^out_type$|^Tout$|^DstT$", "dtype", None, 8.0),
    (
        r"^(indices|index|idx|ids|segment_ids|input_ids|token|tokens|labels|target|targets|row|col|rows|cols|"
        r"sequence_lengths?|seq_lengths?|lengths|positions|y_true|num|multi_index)$",
        "tensor",
        INDICES,
        4.0,
    ),
    (r"^(mask|condition|cond|pred|predicate|attention_mask|bool_mask|which|is_.*)$", "tensor", ("bool",), 5.0),
    (
        r"^(arrays|tensors|tup|seq|.*_list|xs|inputs_list|values_list|operands|matrices|array_list|concat)$",
        "tensors",
        None,
        6.0,
    ),
    (
        r"kernel_size|pool_size|^ksize$|window_size|window_shape|window_dimensions|block_size|block_shape|^scale_factor$|"
        r"^factor$|^upscale_factor$|^downscale_factor$",
        "ints",
        (1, 2, 3),
        5.0,
    ),
    (r"strides?$|dilations?$|dilation_rate|^rates?$|lhs_dilation|rhs_dilation", "ints", (1, 1, 2), 5.0),
    (r"padding|^pad$|^pads$|cropping|^pad_width$|^paddings$", "ints", (0, 1), 3.0),
    (
        r"^(k|n|num.*|depth|groups|num_groups|offset|diagonal|deg|order|length|count|bins|nbins|chunks|sections|units|"
        r"filters|window_length|fft_length|frame_length|frame_step|repeats|shift|shifts|step|steps|n_.*|rank|degree|"
        r".*_size|.*_dim|.*_features|.*_channels|.*_length|start|stop|end|limit|high|minlength|maxlen|.*_height|.*_width)$",
        "int",
        None,
        4.0,
    ),
    (
        r"eps|epsilon|alpha|beta|gamma|rate|scale|^p$|momentum|threshold|lambd|delta|slope|margin|^q$|temperature|"
        r"learning_rate|lower|upper|fill_value|^min|^max|rcond|tol",
        "number",
        None,
        2.0,
    ),
    (
        r"^(x|y|z|a|b|c|v|u|w|t|s|input|inputs|other|tensor|image|images|operand|lhs|rhs|logits|features|values|value|"
        r"data|self|arr|array|ary|matrix|params|kernel|weight|weights|filter|filters|x1|x2|mean|variance|var|scale|bias|grad|"
        r"gradients|dy|y_pred|input\d?|in1|in2|m|sequence|query|key|target|real|imag|src|tensor\d|vec\d|mat\d?|boxes|scores|"
        r"grads|out_backprop|original_image|original_input|updates|p|xi|xp|fp)$",
        "tensor",
        None,
        4.0,
    ),
)
_TYPES: tuple[tuple[str, str, Any, float], ...] = (
    (
        r"^List\[Tensor\]|Tensor\[\]|list\(tensor\)|Sequence\[Array|list\[Array|Tuple\[Tensor|tuple\[Tensor|Sequence\[Tensor",
        "tensors",
        None,
        9.0,
    ),
    (r"ArrayLike|\bArray\b|\bTensor\b|^tensor$|ndarray", "tensor", None, 6.0),
    (
        r"int\[\d?\]|SymInt\[|List\[int\]|Sequence\[int\]|tuple\[int|list\(int\)|_size|Tuple\[int|Shape",
        "ints",
        (1, 2),
        5.0,
    ),
    (r"^(SymInt|int)\b|Optional\[int\]|^int \|", "int", None, 5.0),
    (r"^bool|Optional\[bool\]", "flag", None, 9.0),
    (r"^float|Optional\[float\]|Scalar|^number|StaticScalar|Number", "number", None, 5.0),
    (r"DTypeLike|ScalarType|^type$|torch\.dtype", "dtype", None, 9.0),
    (r"^str|Optional\[str\]|^string$", "choice", None, 4.0),
    (r"^shape$", "shape", None, 9.0),
)


def role_options(parameter: Parameter, facts: Facts) -> list[Constraint]:
    """The ways to give a parameter, the most probable first; leaving it out is among them where it may be."""
    if parameter.registry:
        return _optional(parameter, merged([*_by_registry(parameter), *_strict(parameter, facts)]))
    only = _by_name_alone(parameter, facts)
    if only is not None:
        return _optional(parameter, only)
    found = [
        *_by_registry(parameter),
        *_by_default(parameter),
        *_by_table(_TYPES, parameter.type, parameter, "signature"),
        *_by_documentation(parameter, facts),
        *_by_table(_NAMES, parameter.name, parameter, "name"),
    ]
    if not found:
        found = [_role(parameter, Role("tensor"), "form", 1.0), _role(parameter, Role("int"), "form", 0.6)]
        found += [_role(parameter, Role("number"), "form", 0.4)]
    return _optional(parameter, merged(_each_choice(_with_forms(parameter, found)))[:12])


def _each_choice(found: list[Constraint]) -> list[Constraint]:
    """Every mode string as a constraint of its own: functions take some of them only with other settings."""
    more = []
    for option in found:
        role: Role = option.payload
        if role.kind == "choice" and role.data and len(role.data) > 1:
            share = option.weight / len(role.data[:8])
            names = (option.about[0], option.source)
            more += [
                Constraint(Category.VALUE, names[:1], f"choice {text!r}", names[1], share, Role("choice", (text,)))
                for text in role.data[:8]
            ]
        else:
            more.append(option)
    return more


_PLAIN_KINDS = {"float": "number", "bool": "flag", "shape": "shape"}


def _strict(parameter: Parameter, facts: Facts) -> list[Constraint]:
    """What a parameter of the registry may be: its type, with the numbers that its name suggests."""
    if parameter.type in _PLAIN_KINDS:
        return [_role(parameter, Role(_PLAIN_KINDS[parameter.type]), "registry", 5.0)]
    if parameter.type == "string" and not parameter.choices:
        return [_role(parameter, Role("choice", facts.choices or ("",)), "documentation", 5.0)]
    if parameter.type == "int":
        found = [_role(parameter, Role("int"), "registry", 5.0)]
        return found + [_role(parameter, Role("size of", axis), "form", 0.8) for axis in (0, 1, -1)]
    if parameter.type == "list(int)":
        named = [row[2] for row in _NAMES if row[1] == "ints" and re.search(row[0], parameter.name)]
        values = named[0] if named else (1, 2)
        windows = 8.0 if re.search(r"ksize|strides|rates|dilations|ksizes", parameter.name) else 2.0
        forms = (("window", windows), ("axes", 2.0), ("spatial", 1.0), ("", 1.5))
        return [_role(parameter, Role("ints", (form, *values) if form else values), "registry", w) for form, w in forms]
    return []


def _optional(parameter: Parameter, options: list[Constraint]) -> list[Constraint]:
    """With leaving it out, where it may be."""
    options = _each_choice(options) or [_role(parameter, Role("tensor"), "form", 1.0)]
    if not parameter.required:
        most = sum(option.weight for option in options)
        left_out = Constraint(Category.STRUCTURE, (parameter.name,), LEFT_OUT, "form", 3.0 * most + 1.0, None)
        options.insert(0, left_out)
    return options


def _by_name_alone(parameter: Parameter, facts: Facts) -> list[Constraint] | None:
    """Where name or default leave no doubt: dtypes, flags, mode strings; None where they do."""
    if re.search(r"(^|_)d?type$|^preferred_element_type$", parameter.name):
        return [_role(parameter, Role("dtype"), "name", 5.0)]
    if isinstance(parameter.default, bool) and not parameter.required:
        return [_role(parameter, Role("flag"), "signature", 5.0)]
    if isinstance(parameter.default, str) and not parameter.required:
        choices = facts.choices or (parameter.default,)
        return [_role(parameter, Role("choice", choices), "documentation", 5.0)]
    return None


def _role(parameter: Parameter, role: Role, source: str, weight: float) -> Constraint:
    category = {"tensor": Category.TYPE, "choice": Category.VALUE, "size of": Category.RELATION}.get(role.kind)
    says = role.kind if role.data is None else f"{role.kind} {role.data}"
    return Constraint(category or Category.STRUCTURE, (parameter.name,), says, source, weight, role)


def _by_registry(parameter: Parameter) -> list[Constraint]:
    found = []
    if parameter.choices:
        found.append(_role(parameter, Role("choice", parameter.choices), "registry", 30.0))
    if parameter.dtypes and parameter.type == "type":
        found.append(_role(parameter, Role("dtype", parameter.dtypes), "registry", 30.0))
    if parameter.dtypes and parameter.type in ("tensor", "list(tensor)"):
        kind = "tensor" if parameter.type == "tensor" else "tensors"
        data = parameter.dtypes if not parameter.same_type else (parameter.same_type, *parameter.dtypes)
        found.append(_role(parameter, Role(kind, data), "registry", 40.0))
    return found


def _by_default(parameter: Parameter) -> list[Constraint]:
    default = parameter.default
    if parameter.required or default is None or isinstance(default, dict):
        return [_role(parameter, Role("dtype"), "signature", 9.0)] if _is_dtype(default) else []
    if isinstance(default, bool):
        return [_role(parameter, Role("flag"), "signature", 20.0)]
    if isinstance(default, str):
        return []
    return [_role(parameter, Role("near", _hashable(default)), "signature", 8.0)]


def _is_dtype(default: Any) -> bool:
    return isinstance(default, dict) and "$dtype" in default


def _hashable(value: Any) -> Any:
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value


def _by_table(
    table: tuple[tuple[str, str, Any, float], ...], text: str, parameter: Parameter, source: str
) -> list[Constraint]:
    rows = [(kind, data, weight) for pattern, kind, data, weight in table if text and re.search(pattern, text)]
    return [
        _role(parameter, Role(kind, data), source, weight / (1 + place))
        for place, (kind, data, weight) in enumerate(rows)
    ]


def _by_documentation(parameter: Parameter, facts: Facts) -> list[Constraint]:
    kinds = {"tensor": ("tensor", 5.0), "tensors": ("tensors", 8.0), "flag": ("flag", 12.0), "number": ("int", 3.0)}
    kinds["list"] = ("ints", 4.0)
    found = []
    if facts.structure in kinds:
        kind, weight = kinds[facts.structure]
        data = facts.dtypes or None if kind == "tensor" else (1, 2) if kind == "ints" else None
        found.append(_role(parameter, Role(kind, data), "documentation", weight))
    if facts.structure == "number" and "float" in facts.words:
        found.append(_role(parameter, Role("number"), "documentation", 3.5))
    if facts.choices and (facts.structure in ("string", "") or isinstance(parameter.default, str)):
        found.append(_role(parameter, Role("choice", facts.choices), "documentation", 8.0))
    return found


def _with_forms(parameter: Parameter, found: list[Constraint]) -> list[Constraint]:
    """Beside each way those in which users write the same: a scalar for a list, a size out of a tensor."""
    more = []
    for option in found:
        role: Role = option.payload
        if role.kind == "int" and parameter.required:
            for axis in (-1, 1, 0):
                more.append(_role(parameter, Role("size of", axis), "form", option.weight * 0.4))
        if role.kind == "ints":
            more.append(_role(parameter, Role("int"), "form", option.weight * 0.7))
            for form in ("spatial", "axes", "window", "pairs"):
                more.append(_role(parameter, Role("ints", (form, *role.data)), "form", option.weight * 0.5))
        if role.kind == "tensor" and parameter.name == "inputs":
            more.append(_role(parameter, Role("tensors"), "form", option.weight * 0.3))
        if role.kind == "axis":
            more.append(_role(parameter, Role("axes"), "form", option.weight * 0.15))
        if role.kind == "tensor" and role.data is None and parameter.type:
            more.append(_role(parameter, Role("number"), "form", option.weight * 0.05))
        if role.kind == "number" and parameter.required:
            more.append(_role(parameter, Role("tensor"), "form", option.weight * 0.2))
    return found + more
