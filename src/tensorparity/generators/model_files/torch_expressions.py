"""The code an exported program carries as text: symbolic sizes, guards, names and operators.

torch evaluates sizes with sympy, executes guards, and writes names into source that it then
compiles. So each must be of the narrow form that ``torch.export.save`` writes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...core.jsontext import Json
from .torch_containers import is_tree

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PATH = re.compile(r"[\w.]*", re.ASCII)
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims|quantized_decomposed)\.(_?[A-Za-z]\w*|__i?(and|or|xor|lshift|rshift)__)\.[A-Za-z]\w*"
    r"|torch\.ops\.higher_order\.(cond|while_loop|scan|map_impl|associative_scan"
    r"|wrap_with_set_grad_enabled|wrap_with_autocast)"
    r"|torch\.(_sym_sqrt|sym_float|sym_int|sym_ite|sym_max|sym_min|sym_not|sym_sqrt|sym_sum)"
    r"|torch\._C\._set_grad_enabled"
    r"|_operator\.(abs|add|and_|eq|floordiv|ge|getitem|gt|le|lshift|lt|mod|mul|ne|neg|not_|or_|pos|pow|rshift|sub|truediv)"
    r"|math\.(ceil|floor|trunc|sqrt|log2)",
    re.ASCII,
)
#: Of torch's own operators, those that touch files.
_FILES = re.compile(r"torch\.ops\.aten\.(from_file|save|_print)\b", re.ASCII)

_FUNCTIONS = """
    Symbol Integer Rational Float Add Mul Pow Max Min Mod PythonMod ModularIndexing FloorDiv CleanDiv CeilDiv
    CeilToInt FloorToInt TruncToInt TruncToFloat RoundToInt RoundDecimal IntTrueDiv FloatTrueDiv PowByNatural
    FloatPow ToFloat Where Eq Ne Lt Le Gt Ge Equality Unequality StrictLessThan LessThan StrictGreaterThan
    GreaterThan And Or Not Abs floor ceiling sqrt exp log Identity"""
_SYMPY = frozenset(_FUNCTIONS.split())
_GUARDS = frozenset(("size", "dim", "stride", "storage_offset", "isnan", "isinf"))
_ATTRIBUTES = _GUARDS | {"shape", "inf", "nan", "math"}
_PLAIN = (
    ast.Expression,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.Tuple,
    ast.keyword,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)
_NAMES = ("name", "forward_arg_names")
_PATHS = ("fqn", "parameter_name", "buffer_name", "tensor_constant_name", "path_name")
_VALUES = ("tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values")


def suspicious(program: Json) -> Iterator[str]:
    """What in a serialized program could run code of its own, in words; nothing for an honest one."""
    if not isinstance(program, dict):
        return
    for guard in program.get("guards_code") or ():
        if not is_guard(guard):
            yield f"the guard {guard!r}"
    for size in program.get("range_constraints") or ():
        if not is_size(size):
            yield f"the size {size!r}"
    yield from _walk(program)


def _walk(value: Json) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _walk(item)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _check(key, item)
            if key != "metadata":
                yield from _walk(item)


def _check(key: str, item: Json) -> Iterator[str]:
    if key in ("target", "as_operator") and not is_operator(item):
        yield f"the operator {item!r}"
    elif key == "expr_str" and not is_size(item):
        yield f"the expression {item!r}"
    elif key in ("in_spec", "out_spec") and item is not None and not is_tree(item):
        yield f"the structure {item!r}"
    elif key in ("as_custom_obj", "custom_obj") and item is not None:
        yield "an object of a class of its own"
    elif key in _PATHS and not (isinstance(item, str) and _PATH.fullmatch(item)):
        yield f"the name {item!r}"
    elif key in _NAMES:
        names = item if isinstance(item, list) else [item]
        yield from (f"the name {name!r}" for name in names if name and not _is_name(name))
    elif key in _VALUES and isinstance(item, dict):
        yield from (f"the name {name!r}" for name in item if not _is_name(name))


def _is_name(name: Json) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def is_operator(target: Json) -> bool:
    """One of torch's own operators that compute and nothing else."""
    return isinstance(target, str) and _OPERATOR.fullmatch(target) is not None and not _FILES.match(target)


def is_size(text: Json) -> bool:
    """A sympy expression of numbers, symbols and the functions torch writes."""
    tree = _parse_expression(text)
    return tree is not None and all(_is_size_part(node) for node in ast.walk(tree)) and _strings_name_symbols(tree)


def _is_size_part(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _SYMPY
    return isinstance(node, _PLAIN)


def _strings_name_symbols(tree: ast.AST) -> bool:
    """Text is evaluated once more wherever it is not a symbol's name."""
    strings = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and not isinstance(n.value, (int, float))]
    symbols = [
        node.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Symbol" and node.args
    ]
    return all(string in symbols and _is_name(string.value) for string in strings)


def is_guard(text: Json) -> bool:
    """A comparison of sizes: of inputs ``L['x']``, their shapes and numbers."""
    tree = _parse_expression(text)
    return tree is not None and all(_is_guard_part(node) for node in ast.walk(tree))


def _is_guard_part(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        called = node.func
        named = isinstance(called, ast.Name) and called.id in _SYMPY | {"not", "len", "min", "max"}
        return named or (isinstance(called, ast.Attribute) and called.attr in _GUARDS)
    if isinstance(node, ast.Attribute):
        return node.attr in _ATTRIBUTES
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _PATH.fullmatch(node.value) is not None  # torch quotes guards in the source it writes
    return isinstance(node, (*_PLAIN, ast.Subscript, ast.List))


def _parse_expression(text: Json) -> ast.AST | None:
    if not isinstance(text, str) or len(text) > 100_000:
        return None
    try:
        return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
