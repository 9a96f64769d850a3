"""Nobody asks for the name of a target or an engine: what is particular about one stands in its traits, or in itself.

A target is described once, in ``targets/catalogue`` or by a plug-in. Code that compares a name, or looks it up in a
table of its own, works for our targets only, so it is refused here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

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
#: Variables that hold a target's name: taking one apart is asking who it is.
_TARGETS = frozenset(["target", "suspect", "base", "t"])


def _names() -> frozenset[str]:
    """Registered names, and what the names of one framework begin with (``keras:``)."""
    found = {*TARGETS.names(), *ENGINES.names()}
    return frozenset(found | {name.partition(":")[0] + ":" for name in found if ":" in name})


NAMES = _names()


def _is_name(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in NAMES


def _holds_name(node: ast.AST) -> bool:
    """A name, or a collection of constants with one in it."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_holds_name, node.elts))
    if isinstance(node, ast.Call) and node.args:  # frozenset([...])
        return isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset") and _holds_name(node.args[0])
    return _is_name(node)


def _asks(node: ast.AST) -> bool:
    """Whether an expression asks for a name."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        frameworks = [side for side in sides if isinstance(side, ast.Attribute) and side.attr == "framework"]
        return bool(frameworks) or any(map(_holds_name, sides))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _TESTS_OF_TEXT:
            return any(map(_holds_name, node.args))
        taken_apart = node.func.attr in ("partition", "split") and [ast.unparse(a) for a in node.args[:1]] == ["':'"]
        return taken_apart and isinstance(node.func.value, ast.Name) and node.func.value.id in _TARGETS
    if isinstance(node, ast.Dict):
        return any(_is_name(key) for key in node.keys)
    if isinstance(node, ast.comprehension | ast.For):  # some of ours, one after another
        return _holds_name(node.iter)
    if isinstance(node, ast.Assign | ast.AnnAssign):  # a table to look names up in
        return node.value is not None and not _is_name(node.value) and _holds_name(node.value)
    return isinstance(node, ast.MatchValue) and _is_name(node.value)


def asking(source: str) -> Iterator[int]:
    """The lines that ask for a name."""
    tree = ast.parse(source)
    registries = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_registry(node.func)]
    at_home = {id(argument) for registry in registries for argument in registry.args}
    for node in ast.walk(tree):
        if _asks(node) and id(node) not in at_home:
            yield getattr(node, "lineno", getattr(getattr(node, "iter", None), "lineno", 0))


def _is_registry(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "Registry"


def _files() -> list[str]:
    paths = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
    return sorted(path for path in paths if not path.startswith(AT_HOME))


@pytest.mark.parametrize("path", _files())
def test_no_module_asks_for_names(path: str) -> None:
    lines = sorted(set(asking((ROOT / path).read_text(encoding="utf-8"))))
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
    ],
)
def test_what_asks_for_none(source: str) -> None:
    assert not list(asking(source))


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
