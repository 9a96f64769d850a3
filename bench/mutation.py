"""Would the references' own tests notice a wrong reference? Ten mutants of each family, and how many are killed.

A mutant is a family's module with one change: an operator swapped, a comparison turned, a constant moved, a term
dropped, a maximum made a minimum. Only what decides values and shapes is changed; the rounding terms (``kappa``) are
bounds, which may be a little larger without being wrong, and messages decide nothing. A mutant is killed when a test of
``tests/operators`` fails that is about the family: its own file, and those that name one of its layers. Tests that need
a library are left out.

Usage: python bench/mutation.py [FAMILY ...] [--mutants N]
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measuring import table

from tensorparity.operators.catalogue import _FAMILIES

ROOT = Path(__file__).resolve().parent.parent
OPERATORS = ROOT / "src" / "tensorparity" / "operators"
TESTS = ROOT / "tests" / "operators"

#: Modules of the folder that hold no reference: contracts, tables, plumbing.
_NO_FAMILY = (
    "__init__", "api", "arguments", "catalogue", "directional", "evaluate", "known_classes", "loss_spec", "nested",
    "optimizer_spec", "page", "rounding", "spec",
)  # fmt: skip
#: Families whose tests bear another name.
_TESTED_BY = {
    "adaptive_steps": ("optimizers_by_hand", "optimizers"),
    "carried": ("recurrent", "cells", "convlstm"),
    "classification_losses": ("losses_by_hand", "losses"),
    "regression_losses": ("losses_by_hand", "losses"),
}
_NEEDS_LIBRARIES = ("test_against_keras.py",)

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


def sites(tree: ast.Module) -> list[tuple[int, str]]:
    """Places for a mutation: the position of a node in a walk, and the kind of change."""
    left_out = {id(part) for node in ast.walk(tree) for idle in _idle(node) for part in ast.walk(idle)}
    left_out |= {id(part) for node in tree.body if _declares(node) for part in ast.walk(node)}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            _leave_out_bounds(function, left_out)
    return [
        (position, kind)
        for position, node in enumerate(ast.walk(tree))
        if id(node) not in left_out
        for kind in _kinds(node)
    ]


def _idle(node: ast.AST) -> list[ast.AST]:
    """What decides no value: rounding terms, messages, annotations, declarations of what is worth trying."""
    if isinstance(node, ast.Assign):
        named = any(
            "kappa" in part.id for part in ast.walk(node) if isinstance(part, ast.Name) and _is_target(part, node)
        )
        return [node] if named else []
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.AnnAssign, ast.arguments)):
        return [node]
    if not isinstance(node, ast.Call):
        return []
    name = _name(node.func)
    if name in ("refuse", "Parameter", "Domain", "growth", "LayerSpec", "LossSpec"):
        return [node]
    if name == "Evaluation":
        return list(node.args[1:])
    if name == "WeightSpec":  # how weights are drawn decides nothing either
        return list(node.args[3:]) + [item for item in node.keywords if item.arg == "fan_in"]
    return [item for item in node.keywords if item.arg in ("own", "slope", "kappa")]


def _declares(node: ast.stmt) -> bool:
    """A table at the top of a module: values worth trying, names, specifications."""
    return isinstance(node, ast.Assign) and not isinstance(node.value, (ast.Constant, ast.BinOp, ast.Lambda))


def _leave_out_bounds(function: ast.FunctionDef, left_out: set[int]) -> None:
    """What is computed for rounding terms alone: every use of the name stands where nothing is decided."""
    assignments = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    loads = [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    growing = True
    while growing:
        growing = False
        for node in assignments:
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and _is_target(part, node)}
            used = [load for load in loads if load.id in names]
            if id(node) not in left_out and used and all(id(load) in left_out for load in used):
                left_out.update(id(part) for part in ast.walk(node))
                growing = True


def _is_target(name: ast.Name, assignment: ast.Assign) -> bool:
    return any(name is part for target in assignment.targets for part in ast.walk(target))


def _name(function: ast.AST) -> str:
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _kinds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.BinOp) and type(node.op) in _SWAPS:
        yield "swap"
        if isinstance(node.op, (ast.Add, ast.Sub)):
            yield "drop"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNS:
        yield "turn"
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "constant"
    elif isinstance(node, ast.Attribute) and node.attr in _FUNCTIONS:
        yield "function"


def mutate(tree: ast.Module, position: int, kind: str) -> tuple[ast.Module, str]:
    """A copy with one change, and what was changed in words."""
    mutant = copy.deepcopy(tree)
    node = list(ast.walk(mutant))[position]
    before = ast.unparse(node)
    if isinstance(node, ast.BinOp) and kind == "swap":
        node.op = _SWAPS[type(node.op)]()
    elif isinstance(node, ast.BinOp):
        node.right = ast.Constant(0)
    elif isinstance(node, ast.Compare):
        node.ops[0] = _TURNS[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        node.value = node.value + 1
    elif isinstance(node, ast.Attribute):
        node.attr = _FUNCTIONS[node.attr]
    return ast.fix_missing_locations(mutant), f"line {getattr(node, 'lineno', 0)}: {before} to {ast.unparse(node)}"


def families() -> list[str]:
    return sorted(path.stem for path in OPERATORS.glob("*.py") if path.stem not in _NO_FAMILY)


def tests_of(family: str) -> list[Path]:
    """The family's own file first, then those that name it or one of its layers."""
    own = TESTS / f"test_{family}.py"
    words = {f"operators.{family}", f"import {family}"} | {f'"{name}"' for name in _FAMILIES.get(family, {})}
    others = [
        path
        for path in sorted(TESTS.glob("test_*.py"))
        if path != own and path.name not in _NEEDS_LIBRARIES and any(word in path.read_text() for word in words)
    ]
    further = [TESTS / f"test_{name}.py" for name in _TESTED_BY.get(family, ())]
    return list(dict.fromkeys([*([own] if own.exists() else []), *further, *others]))


def is_killed(family: str, text: str, folder: Path) -> bool:
    """Whether the tests fail with this text as the family's module."""
    module = folder / "src" / "tensorparity" / "operators" / f"{family}.py"
    original = module.read_text()
    module.write_text(text)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    paths = [str(path) for path in tests_of(family)]
    variables = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run([*command, *paths], cwd=ROOT, env=variables, capture_output=True, timeout=300)
        return ended.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        module.write_text(original)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*")
    parser.add_argument("--mutants", type=int, default=10)
    options = parser.parse_args()
    rows, killed, made = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="tensorparity-mutants-") as scratch:
        folder = Path(scratch)
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for number, family in enumerate(options.family or families()):
            tree = ast.parse((OPERATORS / f"{family}.py").read_text())
            places = sites(tree)
            rng = np.random.default_rng([0, number])
            chosen = [places[index] for index in rng.permutation(len(places))[: options.mutants]]
            survivors = []
            for position, kind in chosen:
                mutant, said = mutate(tree, position, kind)
                if not is_killed(family, ast.unparse(mutant), folder):
                    survivors.append(said)
            killed += len(chosen) - len(survivors)
            made += len(chosen)
            rows.append([family, str(len(places)), str(len(chosen)), str(len(chosen) - len(survivors))])
            for said in survivors:
                print(f"{family} survived: {said}", file=sys.stderr, flush=True)
            print(f"{family}: {len(chosen) - len(survivors)} of {len(chosen)}", file=sys.stderr, flush=True)
    print(table(["family", "places", "mutants", "killed"], rows))
    print(f"\n{killed} of {made} killed ({100 * killed / max(made, 1):.0f} %).")


if __name__ == "__main__":
    main()
