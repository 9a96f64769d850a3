"""Nobody asks for the name of a target or an engine: what is particular about one stands in its traits, or in itself.

A target is described once, in ``targets/catalogue`` or by a plug-in. Code that compares a name, or looks it up in a
table of its own, works for our targets only, so it is refused here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import pytest

import tensorparity
from tensorparity.engines.base import ENGINES
from tensorparity.targets.catalogue import TARGETS

ROOT = Path(tensorparity.__file__).parent

#: Where names belong: registries, adapters, what is made for one library, and what plants faults in one.
AT_HOME = (
    "engines/base.py",
    "oracles/kinds.py",
    "targets/catalogue.py",
    "targets/lowering/",
    "testing/",
    "oracles/measure/localizers.py",
    "triage/reproduce/",
    "worker/",
    "zoo/",
)
_TESTS_OF_TEXT = ("startswith", "removeprefix", "endswith", "removesuffix")
#: What looks something up, or for it, by an argument: tables, texts, patterns.
_LOOKUPS = ("get", "pop", "setdefault", "index", "count", "find", "match", "fullmatch", "search")
_COLLECTIONS = ("set", "frozenset", "tuple", "list")
_COMPARISONS = ("eq", "ne", "contains")
#: Variables that hold a target's name: taking one apart is asking who it is.
_TARGETS = frozenset(["target", "suspect", "base", "t"])


def _names() -> frozenset[str]:
    """Registered names, and what the names of one framework begin with (``keras:``)."""
    found = {*TARGETS.names(), *ENGINES.names()}
    return frozenset(found | {name.partition(":")[0] + ":" for name in found if ":" in name})


NAMES = _names()
FRAMEWORKS = frozenset(name[:-1] for name in NAMES if name.endswith(":"))


def _is_text_of_name(node: ast.AST | None) -> bool:
    """A constant with a name in it; settings and environments make another target of it, not another name."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and re.split("[@{]", node.value)[0] in NAMES


def _constants(tree: ast.AST) -> frozenset[str]:
    """What a module calls the names that it holds as constants of its own."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in getattr(tree, "body", ()):
        if isinstance(node, ast.Assign):
            pairs += [pair for target in node.targets for pair in _unpacked(target, node.value)]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs.append((node.target, node.value))
    return frozenset(t.id for t, value in pairs if isinstance(t, ast.Name) and _is_text_of_name(value))


def _unpacked(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def _imported(tree: ast.AST, folder: PurePosixPath) -> frozenset[str]:
    """What a module calls the names that it has from others of ours."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            start = folder if node.level == 1 else folder.parents[node.level - 2]
            path = (start / node.module.replace(".", "/")).as_posix() + ".py"
            if (ROOT / path).is_file():
                theirs = _constants(_tree(path))
                found |= {alias.asname or alias.name for alias in node.names if alias.name in theirs}
    return frozenset(found)


class _Search:
    """Looks through one module for what asks for a name, also by a constant that holds it."""

    def __init__(self, tree: ast.Module, folder: PurePosixPath) -> None:
        self._tree = tree
        self._held = _constants(tree) | _imported(tree, folder)

    def lines(self) -> Iterator[int]:
        registries = [n for n in ast.walk(self._tree) if isinstance(n, ast.Call) and _is_registry(n.func)]
        at_home = {id(argument) for registry in registries for argument in registry.args}
        for node in ast.walk(self._tree):
            if self._asks(node) and id(node) not in at_home:
                yield getattr(node, "lineno", getattr(getattr(node, "iter", None), "lineno", 0))

    def _is_name(self, node: ast.AST | None) -> bool:
        return _is_text_of_name(node) or (isinstance(node, ast.Name) and node.id in self._held)

    def _holds_name(self, node: ast.AST) -> bool:
        """A name, or a collection with one in it."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return any(map(self._holds_name, node.elts))
        if isinstance(node, ast.Dict):
            return any(map(self._is_name, node.keys))
        if isinstance(node, ast.Call) and node.args:  # frozenset([...])
            return _is_called(node, _COLLECTIONS) and self._holds_name(node.args[0])
        return self._is_name(node)

    def _asks(self, node: ast.AST) -> bool:
        """Whether an expression asks for a name."""
        if isinstance(node, ast.Compare):
            return self._compares(node)
        if isinstance(node, ast.Call):
            return self._calls(node)
        if isinstance(node, ast.Dict | ast.Set):
            return self._holds_name(node)
        if isinstance(node, ast.DictComp):
            return self._is_name(node.key)
        if isinstance(node, ast.Subscript):
            return self._is_name(node.slice)
        if isinstance(node, ast.comprehension | ast.For):  # some of ours, one after another
            return self._holds_name(node.iter)
        if isinstance(node, ast.Assign | ast.AnnAssign):  # a table to look names up in
            return node.value is not None and self._is_table(node)
        return isinstance(node, ast.MatchValue) and self._is_name(node.value)

    def _is_table(self, node: ast.Assign | ast.AnnAssign) -> bool:
        """Several names for one variable; constants that each hold one are looked at where they are used."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        single = all(not isinstance(target, ast.Tuple) for target in targets)
        return single and not self._is_name(node.value) and self._holds_name(node.value)  # type: ignore[arg-type]

    def _compares(self, node: ast.Compare) -> bool:
        sides = [node.left, *node.comparators]
        frameworks = any(isinstance(side, ast.Attribute) and side.attr == "framework" for side in sides)
        apart = any(map(_first_part, sides)) and any(map(_is_framework, sides))
        within = any(isinstance(op, ast.In | ast.NotIn) for op in node.ops) and _is_framework(node.left)
        inside = within and isinstance(sides[1], ast.Name) and sides[1].id in _TARGETS
        return frameworks or apart or inside or any(map(self._holds_name, sides))

    def _calls(self, node: ast.Call) -> bool:
        if _is_called(node, ("dict",)) and any(keyword.arg in NAMES for keyword in node.keywords):
            return True
        if _is_called(node, _COMPARISONS):
            return any(map(self._holds_name, node.args))
        if not isinstance(node.func, ast.Attribute):
            return False
        if node.func.attr in (*_TESTS_OF_TEXT, *_LOOKUPS, *_COMPARISONS):
            return any(map(self._holds_name, node.args))
        return _takes_apart(node) and isinstance(node.func.value, ast.Name) and node.func.value.id in _TARGETS


def _is_called(node: ast.Call, names: Sequence[str]) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in names


def _takes_apart(node: ast.AST) -> bool:
    """``name.partition(":")`` and ``name.split(":")``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return node.func.attr in ("partition", "split") and [ast.unparse(a) for a in node.args[:1]] == ["':'"]


def _first_part(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "0" and _takes_apart(node.value)


def _is_framework(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in FRAMEWORKS


def asking(source: str, folder: str = "") -> Iterator[int]:
    """The lines that ask for a name.

    Args:
        folder: where the module stands, by which it finds what it imports.
    """
    yield from _Search(ast.parse(source), PurePosixPath(folder)).lines()


def _is_registry(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "Registry"


def _files() -> list[str]:
    paths = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
    return sorted(path for path in paths if not path.startswith(AT_HOME))


@pytest.mark.parametrize("path", _files())
def test_no_module_asks_for_names(path: str) -> None:
    lines = sorted(set(asking((ROOT / path).read_text(encoding="utf-8"), PurePosixPath(path).parent.as_posix())))
    assert not lines, f"{path} asks for names in lines {lines}: give the target a trait, or the engine a setting"


@pytest.mark.parametrize(
    "source",
    [
        'target == "keras:jax"',
        'target in ("torch:eager", "other")',
        'target.startswith("keras:")',
        'target.startswith(("mine", "torch:"))',
        'table = {"onnxruntime": 1}',
        '_SOME = frozenset(["keras:torch"])',
        '_MOST = ("openvino",)',
        'target.partition(":")[0] == family',
        'parse_target(target).framework == "keras"',
        'engine != "muffin"',
        'match target:\n    case "openvino": pass',
        'chosen = [name for name in ("tensorflow:eager",) if is_installed(name)]',
        '_PAPER = "muffin"\njudge = 1 if oracle == _PAPER else 2',
        '_A, _B = "keras:jax", 2\nfound = table[_A]',
        'table["openvino"] = 1',
        'waits = table.get("keras:torch", 0)',
        "table = dict(muffin=1)",
        'table = {"openvino"} | more',
        'table = {"keras:jax": 1} if here else {}',
        'target == "keras:jax@old"',
        'target.startswith(tuple(["keras:"]))',
        're.match("keras:", target)',
        'operator.eq(target, "keras:jax")',
        'who.split(":")[0] == "keras"',
        'is_keras = "keras" in target',
        '"keras:" in who',
        'match engine, target:\n    case ("muffin" | "eagle", _): pass',
    ],
)
def test_what_asks_for_a_name(source: str) -> None:
    assert list(asking(source))


@pytest.mark.parametrize(
    "source",
    [
        '"""Keras says so: target == "keras:jax"."""',
        'file.format == "onnx"',
        'traits.lowering == "torch"',
        'name.partition(":")[2]',
        'open_runner(["keras:jax"])',
        'ORACLES = Registry("oracle", {"muffin": "here:judge"})',
        'api.startswith("keras.layers.")',
        '_EXPORTER = "torch:eager"\nexport(file, _EXPORTER)',
        'package == "keras"',
    ],
)
def test_what_asks_for_none(source: str) -> None:
    assert not list(asking(source))


def test_a_name_is_known_under_what_another_module_calls_it() -> None:
    assert list(asking("from ..targets.catalogue import TORCH_EXPORTER as WHO\nif target == WHO:\n    pass", "cli"))
    assert not list(asking("from ..elsewhere import WHO\nif target == WHO:\n    pass", "cli"))


# --- kinds of cases

#: Where a case's kind is told by its subject: the table of kinds, what is made for each kind of subject (requests,
#: lowering, scripts), and what inspects strangers' files.
_BY_SUBJECT = (
    "core/",
    "oracles/kinds.py",
    "targets/",
    "triage/reproduce/",
    "generators/model_files/case_inspection.py",
    "store/",
)
_SUBJECTS = frozenset(["LayerGraph", "ModelFile", "ApiCall"])


def ladders(source: str) -> Iterator[str]:
    """The functions that ask for all types of subjects: they want the table of kinds."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and _asked_types(function) >= _SUBJECTS:
            yield function.name


def _asked_types(function: ast.FunctionDef) -> set[str]:
    """What a function asks for with ``isinstance``; an assertion asks nothing."""
    asserts = [node for node in ast.walk(function) if isinstance(node, ast.Assert)]
    asserted = {id(inner) for node in asserts for inner in ast.walk(node)}
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and id(node) not in asserted]
    asking_calls = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "isinstance"]
    return {name.id for call in asking_calls for name in ast.walk(call.args[1]) if isinstance(name, ast.Name)}


@pytest.mark.parametrize("path", [path for path in _files() if not path.startswith(_BY_SUBJECT)])
def test_no_module_has_a_ladder_of_subjects(path: str) -> None:
    found = list(ladders((ROOT / path).read_text(encoding="utf-8")))
    assert not found, f"{', '.join(found)} in {path} tell cases apart by their subjects: oracles/kinds.py has the kinds"


def test_what_a_ladder_is() -> None:
    rung = "    if isinstance(case.subject, {}):\n        return 1\n"
    assert list(ladders("def f(case):\n" + "".join(rung.format(name) for name in sorted(_SUBJECTS)))) == ["f"]
    assert not list(ladders("def f(case):\n" + rung.format("ApiCall")))


def test_one_table_from_status_to_kind() -> None:
    """How a case ended is made a kind of finding in one place; nobody else has a table keyed by endings."""
    tables = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict) and any(map(_is_ending, node.keys)) and any(map(_is_kind, node.values)):
                tables.append(path.relative_to(ROOT).as_posix())
    assert tables == ["core/endings.py"]


def _is_ending(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Status"


def _is_kind(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Kind"
