"""Mutants of a reference: one change each to a module, and the rules that say which changes count.

A change counts where it decides a value, a shape or a refusal. Five kinds of code decide none of these, are told by
what they are used for, and are left alone:

- bounds: rounding terms, and whatever is computed for them only. A bound that is somewhat larger is not wrong;
  ``tests/operators`` holds them to account in another way (wide enough for float32, too narrow for a lost term);
- bindings: how a library is asked for an operator. Only that library can say whether it is asked rightly;
- declarations: names, formulas, values worth trying, domains, how weights are drawn;
- messages and types.

What else no test can notice, because no value changes, is in ``EQUIVALENT``, by name and with its reason.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

#: (module, function or name) -> why a change in it changes no value.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("reference/numbers", "_NEWTON"): "steps beyond convergence change nothing",
    ("reference/numbers", "_RECURRENCES"): "steps beyond the last that is needed change nothing",
    ("reference/numbers", "_POWERS"): "terms below the roundoff change nothing",
    ("reference/numbers", "_FAR_BESSEL"): "terms below the roundoff change nothing",
    ("reference/numbers", "_FAR_NDTR"): "terms below the roundoff change nothing",
    ("reference/numbers", "_MIRROR"): "both formulas hold on either side",
    ("reference/numbers", "_FROM_DIGAMMA"): "both formulas hold on either side",
    ("reference/numbers", "_FROM_BESSEL"): "both formulas hold on either side",
    ("reference/numbers", "_FROM_NDTR"): "both formulas hold on either side",
    ("reference/numbers", "_erfinv_guess"): "Newton's steps lead to the same value from any start near it",
    ("reference/numbers", "_ndtri_guess"): "Newton's steps lead to the same value from any start near it",
    ("reference/numbers", "_trigamma"): "the slope of digamma: it reaches bounds only, through a table of functions",
    ("layers/convolution", "CHUNK_BYTES"): "how much memory is used at once",
    ("layers/convolution", "row_bytes"): "how much memory is used at once",
    ("reference/directional", "STEP"): "the step of a difference: one near it serves as well",
    ("reference/directional", "_NOISE"): "how much rounding explains: a bound under another name",
}

_SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.MatMult: ast.Mult, ast.Pow: ast.Mult, ast.Mod: ast.Add,
}  # fmt: skip
_TURNS: dict[type, type] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_FUNCTIONS = {
    "maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "mean": "sum", "sum": "mean",
    "exp": "expm1", "sqrt": "square", "floor": "ceil", "ceil": "floor",
}  # fmt: skip

#: Calls that declare something, or refuse with a message; functions given to them count all the same.
_DECLARING = frozenset(
    ["Parameter", "Domain", "Operand", "LayerSpec", "LossSpec", "OptimizerSpec", "ApiSpec", "Operator", "Cell",
     "refuse", "serialized"]
)  # fmt: skip
_DECLARING_KEYWORDS = frozenset(
    ["low", "high", "points", "without", "shapes", "dtypes", "unlike", "ranks", "arity", "fan_in", "hazards"]
)
#: Arguments of our own functions that are bounds: by place (from 0), or by name.
_BOUND_PLACES = {
    "Evaluation": (1,), "Function": (1, 2), "elementwise": (3,), "_pair": (3,), "_loss": (3,), "einsum": (3,),
    "Slope": (2, 3),
}  # fmt: skip
_BOUND_KEYWORDS = frozenset(["kappa", "slope", "own"])
_LIBRARIES = frozenset(["tensorflow", "torch", "jax", "keras", "onnx"])
_BINDING_CALLS = frozenset(["call", "plain", "with_params", "bindings"])
_BINDING_TYPES = frozenset(["Call", "Binding", "dict[str, Binding]"])

_Function = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Site:
    """A place for a mutation: the position of a node in a walk of the module, and the kind of change."""

    position: int
    kind: str


def sites(tree: ast.Module, module: str, imported: Iterable[str] = ()) -> list[Site]:
    """Every place where a change counts.

    Args:
        module: the name under which ``EQUIVALENT`` knows it.
        imported: names of this module that others import; what they are used for is not seen from here.
    """
    idle = _Reach(tree, frozenset(imported)).grown(_bounds(tree) | _bindings(tree) | _drawing(tree))
    idle |= _declarations(tree) | _words(tree) | _named(tree, module)
    idle |= {id(node.operand) for node in ast.walk(tree) if isinstance(node, ast.UnaryOp) and _is_negative(node)}
    return [
        Site(position, kind)
        for position, node in enumerate(ast.walk(tree))
        if id(node) not in idle
        for kind in _kinds(node)
    ]


def _kinds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.BinOp) and type(node.op) in _SWAPS:
        yield "swap"
        if isinstance(node.op, (ast.Add, ast.Sub)):
            yield "drop"
    elif _is_negative(node):
        yield "constant"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNS:
        yield "turn"
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "constant"
    elif isinstance(node, ast.Attribute) and node.attr in _FUNCTIONS:
        yield "function"


def _is_negative(node: ast.AST) -> bool:
    """A constant with its sign: -1 is one number, and not the opposite of another."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)


def mutate(tree: ast.Module, site: Site) -> tuple[ast.Module, str]:
    """A copy with one change, and what was changed in words."""
    mutant = copy.deepcopy(tree)
    node = list(ast.walk(mutant))[site.position]
    before = ast.unparse(node)
    if isinstance(node, ast.BinOp) and site.kind == "swap":
        node.op = _SWAPS[type(node.op)]()
    elif isinstance(node, ast.BinOp):
        node.right = ast.Constant(0)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        node.operand.value -= 1
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd()
    elif isinstance(node, ast.Compare):
        node.ops[0] = _TURNS[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        node.value = node.value + 1
    elif isinstance(node, ast.Attribute):
        node.attr = _FUNCTIONS[node.attr]
    return ast.fix_missing_locations(mutant), f"line {getattr(node, 'lineno', 0)}: {before} to {ast.unparse(node)}"


# What counts nowhere


def _inside(nodes: Iterable[ast.AST]) -> set[int]:
    return {id(part) for node in nodes for part in ast.walk(node)}


def _inside_but_functions(node: ast.AST) -> set[int]:
    """A node and its parts, without the functions written down in it: those are code."""
    if isinstance(node, ast.Lambda):
        return set()
    found = {id(node)}
    for part in ast.iter_child_nodes(node):
        found |= _inside_but_functions(part)
    return found


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _words(tree: ast.Module) -> set[int]:
    """Messages, docstrings and types."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Raise, ast.JoinedStr)):
            found.append(node)
        elif isinstance(node, ast.AnnAssign) or isinstance(node, ast.arg) and node.annotation is not None:
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            found.append(node.returns)
    return _inside(found)


def _named(tree: ast.Module, module: str) -> set[int]:
    names = {name for owner, name in EQUIVALENT if owner == module}
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        given = [node.name] if isinstance(node, ast.FunctionDef) else [name for name, _ in _given(node)]
        if names & set(given):
            found.append(node)
    return _inside(found)


def _declarations(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        named = isinstance(node, ast.keyword) and node.arg in _DECLARING_KEYWORDS
        if named or (isinstance(node, ast.Call) and _called(node) in _DECLARING):
            found |= _inside_but_functions(node)
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            found |= _data(statement.value)
    return found


def _drawing(tree: ast.Module) -> set[int]:
    """How weights are drawn; their shapes count."""
    specs = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "WeightSpec"]
    return _inside([item for spec in specs for item in (*spec.args[1:], *spec.keywords)])


def _data(node: ast.AST) -> set[int]:
    """Literal tables at the top of a module: values worth trying, ranks, shapes. Anything computed counts."""
    if isinstance(node, _Function):
        return set()
    if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)) and _is_literal(node):
        return _inside([node])
    return {found for part in ast.iter_child_nodes(node) for found in _data(part)}


def _is_literal(node: ast.AST) -> bool:
    """Constants and names in brackets; a tuple times a number is one, too."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mult) and isinstance(node.left, (ast.Tuple, ast.List)) and _is_literal(node.left)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp)):
        return all(_is_literal(part) for part in ast.iter_child_nodes(node))
    return isinstance(node, (ast.Constant, ast.Name, ast.Load, ast.USub))


def _bounds(tree: ast.Module) -> set[int]:
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _called(node)
            found += [item for place, item in enumerate(node.args) if place in _BOUND_PLACES.get(name, ())]
            found += [node] if name == "growth" else []
            if isinstance(node.func, ast.Attribute) and "kappa" in ast.unparse(node.func.value):
                found.append(node)
        elif isinstance(node, ast.keyword) and node.arg in _BOUND_KEYWORDS:
            found.append(node)
        found += [value for name, value in _given(node) if "kappa" in name]
    return _inside(found)


def _bindings(tree: ast.Module) -> set[int]:
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        named = isinstance(node, ast.keyword) and node.arg in _LIBRARIES
        if named or (isinstance(node, ast.Call) and _called(node) in _BINDING_CALLS):
            found.append(node)
        elif isinstance(node, ast.Dict):
            keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
            found += [value for key, value in zip(keys, node.values, strict=True) if key in _LIBRARIES]
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            found += [node] if ast.unparse(node.returns) in _BINDING_TYPES else []
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) in _BINDING_TYPES:
            found.append(node)
    return _inside(found)


def _given(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Names that a statement gives a value to, with that value; parts of tuples one by one."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _matched(target, node.value)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
        yield from _matched(node.target, node.value)


def _matched(target: ast.AST, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, given in zip(target.elts, value.elts, strict=True):
            yield from _matched(part, given)
    elif isinstance(target, (ast.Subscript, ast.Name)):
        base = target
        while isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Name):
            yield base.id, value


class _Reach:
    """From code that decides nothing to what is computed for it only.

    A name decides nothing if every use of it stands in code that decides nothing, or in what the name itself is
    given; so do a condition and a loop of which every statement decides nothing.
    """

    def __init__(self, tree: ast.Module, imported: frozenset[str]) -> None:
        self._tree = tree
        self._imported = imported
        self._outer = [node for top in tree.body for node in self._functions(top)]

    @staticmethod
    def _functions(node: ast.AST) -> list[ast.FunctionDef]:
        if isinstance(node, ast.FunctionDef):
            return [node]
        return (
            [item for item in node.body if isinstance(item, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []
        )

    def grown(self, idle: set[int]) -> set[int]:
        idle, size = set(idle), -1
        while len(idle) != size:
            size = len(idle)
            for function in self._outer:
                self._grow_names(function, idle, frozenset())
                self._grow_branches(function, idle)
            self._grow_names(self._tree, idle, self._imported)
        return idle

    def _grow_names(self, scope: ast.AST, idle: set[int], kept: frozenset[str]) -> None:
        values: dict[str, list[ast.AST]] = {}
        nodes = list(ast.walk(scope)) if isinstance(scope, ast.FunctionDef) else list(ast.iter_child_nodes(scope))
        for node in nodes:
            for name, value in _given(node):
                values.setdefault(name, []).append(value)
            if isinstance(node, ast.FunctionDef) and node is not scope:
                values.setdefault(node.name, []).append(node)
        loads = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        stored = _inside(node for node in ast.walk(scope) if isinstance(node, ast.Subscript) and _is_stored(node))
        for name, given in values.items():
            own = _inside(given) | stored
            used = [load for load in loads if load.id == name and id(load) not in own]
            if name not in kept and used and all(id(load) in idle for load in used):
                idle |= _inside(given)

    def _grow_branches(self, function: ast.FunctionDef, idle: set[int]) -> None:
        for node in ast.walk(function):
            if not isinstance(node, (ast.If, ast.For)):
                continue
            if all(_is_idle(statement, idle) for statement in (*node.body, *node.orelse)):
                idle |= _inside([node])


def _is_stored(node: ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_idle(statement: ast.stmt, idle: set[int]) -> bool:
    given = list(_given(statement))
    if given:
        return all(id(value) in idle for _, value in given)
    return id(statement) in idle or (isinstance(statement, ast.Expr) and id(statement.value) in idle)
