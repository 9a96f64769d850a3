"""What the mutation test changes in a reference, and what it leaves alone."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_mutants", ROOT / "bench" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def changes(mutants: ModuleType, text: str) -> list[str]:
    tree = ast.parse(text)
    return [mutants.mutate(tree, site)[1].partition(": ")[2] for site in mutants.sites(tree, "some", ())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    return x + 2", ["x + 2 to x - 2", "x + 2 to x + 0", "2 to 3"]),
        ("def f(x):\n    return x.reshape(-1)", ["-1 to -0"]),
        ("def f(x):\n    return -x", ["-x to +x"]),
        ("def f(x):\n    return np.maximum(x, y) if x > y else y", ["x > y to x <= y", "np.maximum to np.minimum"]),
        ("def f(x):\n    return Evaluation(x, 2.0 * x)", []),
        ("def f(x):\n    size = 2.0 * x\n    return Evaluation(x, size)", []),
        ("def f(x):\n    size = 2.0 * x\n    return Evaluation(size, size)", ["2.0 * x to 2.0 / x", "2.0 to 3.0"]),
        ("def f(x):\n    kappa = abs(x)\n    if x > 3:\n        kappa *= 2\n    return Evaluation(x, kappa)", []),
        ("def slope(x):\n    return 2 * x\nF = Function(lambda x: x * x, slope)", ["x * x to x / x"]),
        ("P = Parameter('a', 1.0, (1.0, 2.0))\nRANKS = (2, 3)\nLEAST = 1e-7", ["1e-07 to 1.0000001"]),
        ("def f(p, s) -> Call:\n    return call('torch.f', s[1])", []),
        ("def f(x: tuple[1]):\n    raise ValueError(f'{x + 1}')", []),
        ("def f(a):\n    fan = a * 2\n    return WeightSpec((a + 1,), 'kernel', fan_in=fan)",
         ["a + 1 to a - 1", "a + 1 to a + 0", "1 to 2"]),
    ],
)  # fmt: skip
def test_what_counts(mutants: ModuleType, text: str, expected: list[str]) -> None:
    assert sorted(changes(mutants, text)) == sorted(expected)


def test_what_others_import_counts(mutants: ModuleType) -> None:
    tree = ast.parse("def size(x):\n    return 2 * x\ndef f(x):\n    return Evaluation(x, size(x))")
    assert not mutants.sites(tree, "some", ())
    assert len(mutants.sites(tree, "some", ("size",))) == 2


def test_the_table_of_equivalents_names_what_exists(mutants: ModuleType) -> None:
    package = ROOT / "src" / "tensorparity"
    texts = {}
    for (module, name), reason in mutants.EQUIVALENT.items():
        text = texts.setdefault(module, (package / "operators" / f"{module}.py").read_text())
        assert re.search(rf"\b{name}\b( = |, .* = |\()", text), f"{module} has no {name}"
        assert reason
