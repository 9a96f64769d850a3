"""Would the references' own tests notice a wrong reference? Ten mutants of each family, and how many are killed.

A family is a module of references: layers, losses, optimizers, single functions, operators (``calls/``), and what
their gradients are measured by. ``mutants.py`` says what is changed in it, and what is not. A mutant is killed when a
test fails that is about the family: its own file, files that name it, and those cases of other files that are given
one of its layers, losses, optimizers or operators. Tests that need a library are left out.

``trials.py`` runs each mutant in a process of its own.

Usage: python bench/mutation.py [FAMILY ...] [--mutants N] [--seed S] [--jobs J]
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import mpmath  # noqa: F401 - imported before the fork, so that no mutant pays for it
import numpy as np
import pytest
from measuring import table
from mutants import mutate, sites
from trials import Trials

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "tensorparity"
OPERATORS = PACKAGE / "operators"
TESTS = ROOT / "tests"

#: Modules of the folder that hold no reference: contracts, tables, plumbing, readers of arguments, an encoder.
_NO_REFERENCE = frozenset(
    ["__init__", "arguments", "catalogue", "known_classes", "page", "spec", "layers/nested", "reference/evaluate",
     "reference/rounding", "reference/tolerances", "functions/gif", "functions/catalogue", "functions/helpers",
     "functions/spec", "functions/__init__", "layers/__init__", "losses/__init__", "optimizers/__init__",
     "metrics/__init__", "reference/__init__"]
)  # fmt: skip
#: Test files of families that bear another name, or lie elsewhere.
_TESTED_BY = {
    "optimizers/adaptive_steps": (
        "operators/optimizers/test_optimizers_by_hand.py",
        "operators/optimizers/test_optimizers_by_loops.py",
    ),
    "reference/carried": ("operators/layers/test_layers_by_loops.py", "operators/layers/test_spectrogram.py"),
    "reference/directional": ("oracles/measure/test_subgradients.py",),
    "losses/spec": ("operators/losses/test_losses_by_loops.py", "operators/losses/test_catalogue.py"),
    "optimizers/spec": ("operators/optimizers/test_catalogue.py", "operators/optimizers/test_optimizers_by_loops.py"),
    "optimizers/catalogue": ("operators/optimizers/test_optimizers_by_loops.py",),
    "layers/spatial": (
        "operators/layers/test_convolution.py",
        "operators/layers/test_pooling.py",
        "operators/layers/test_windows_by_loops.py",
    ),
}  # fmt: skip
#: Where cases of all families stand side by side.
_COMMON = (
    "operators/layers/test_layers_by_loops.py",
    "operators/layers/test_windows_by_loops.py",
    "operators/test_refusals.py",
    "operators/test_catalogue.py",
)
_MARKS = "not slow and not tensorflow and not jax and not torch and not onnxruntime"
_NEEDS_LIBRARIES = ("test_against", "test_independent", "test_known_classes")
_OPTIONS = (
    "-q", "--tb=no", "-p", "no:cacheprovider", "--assert=plain", "--hypothesis-profile", "measured", "-m", _MARKS,
    "-W", "ignore::pytest.PytestAssertRewriteWarning",  # Hypothesis is imported already, on purpose
)  # fmt: skip


@dataclass(frozen=True)
class Family:
    """A module of references: its name here, its file, and what it declares."""

    name: str
    path: Path
    declared: frozenset[str]

    @property
    def module(self) -> str:
        return ".".join(("tensorparity", *self.path.relative_to(PACKAGE).with_suffix("").parts))

    def test_files(self) -> list[str]:
        """Its own first, then those that name it or something it declares, then the common ones."""
        stem = self.path.stem
        folder = TESTS / "operators" / Path(self.name).parent
        own = [path for path in (folder / f"test_{stem}.py",) if path.exists()]
        words = {f"operators.{self.name.replace('/', '.')} ", f"import {stem}\n"} | {
            f'"{name}"' for name in self.declared
        }
        others = [path for path in sorted(folder.glob("test_*.py")) if any(word in path.read_text() for word in words)]
        further = [TESTS / name for name in (*_TESTED_BY.get(self.name, ()), *(_COMMON if self.declared else ()))]
        if self.name.startswith("functions/"):
            further = sorted(folder.glob("test_*.py"))
        found = dict.fromkeys([*own, *further, *others])
        return [str(path) for path in found if not path.name.startswith(_NEEDS_LIBRARIES)]


class _About:
    """Keeps the tests that are about a family, and drops the cases that are given what another declares."""

    def __init__(self, family: Family, everything: frozenset[str]) -> None:
        self._wanted, self._foreign = family.declared, everything - family.declared

    def __call__(self, item: pytest.Item) -> bool:
        called = getattr(item, "callspec", None)
        given = {value for value in called.params.values() if isinstance(value, str)} if called else set()
        if not self._wanted or given & self._wanted:
            return True
        return not given & self._foreign and not str(item.path).endswith(_COMMON)


# Families


def families() -> list[Family]:
    declared = _declared()
    paths = {str(path.relative_to(OPERATORS).with_suffix("")): path for path in sorted(OPERATORS.rglob("*.py"))}
    paths = {name: path for name, path in paths.items() if name not in _NO_REFERENCE}
    return [Family(name, path, declared.get(name, frozenset())) for name, path in paths.items()]


def _declared() -> dict[str, frozenset[str]]:
    """What each family declares, read in a process of its own: nothing of ours is imported here."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        from tensorparity.operators import catalogue
        from tensorparity.operators import functions as calls
        from tensorparity.operators.functions import catalogue as operators
        from tensorparity.operators.losses import catalogue as losses
        from tensorparity.operators.losses import classification as classification_losses
        from tensorparity.operators.losses import regression as regression_losses
        from tensorparity.operators.optimizers import catalogue as optimizers

        found = {f"layers/{name}": list(members) for name, members in catalogue._FAMILIES.items()}
        found |= {
            f"{calls.__name__.rpartition('.')[2]}/{name}": names.split() for name, names in operators._FAMILIES.items()
        }
        found["losses/classification"] = [spec.name for spec in classification_losses.CLASSIFICATION_LOSSES]
        found["losses/regression"] = [spec.name for spec in regression_losses.REGRESSION_LOSSES]
        found["losses/catalogue"] = [spec.name for spec in losses._CROSS_ENTROPIES_AND_NORMS]
        found["optimizers/catalogue"] = [spec.name for spec in optimizers._PLAIN]
        found["optimizers/adaptive_steps"] = [spec.name for spec in optimizers.ADAPTIVE_OPTIMIZERS]
        os.write(writing, repr(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        found = ast.literal_eval(stream.read())
    os.wait()
    return {name: frozenset(names) for name, names in found.items()}


def _imported_from(family: Family) -> set[str]:
    """Names of the module that other modules of the package use."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if path == family.path or family.path.stem not in path.read_text():
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] == family.path.stem:
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == family.path.stem:
                found.add(node.attr)
    return found


@dataclass
class Result:
    """How many places there are, how many mutants were made, and what the survivors say."""

    places: int
    mutants: int
    survivors: list[str]

    @property
    def killed(self) -> int:
        return self.mutants - len(self.survivors)


def measure(family: Family, everything: frozenset[str], count: int, seed: int, jobs: int) -> Result:
    tree = ast.parse(family.path.read_text())
    places = sites(tree, family.name, _imported_from(family))
    rng = np.random.default_rng([seed, zlib.crc32(family.name.encode())])
    made = [mutate(tree, places[index]) for index in rng.permutation(len(places))[:count]]
    trials = Trials(family.module, family.path, [*_OPTIONS, *family.test_files()], _About(family, everything))
    survivors = trials.survivors([mutant for mutant, _ in made], jobs)
    return Result(len(places), len(made), [made[index][1] for index in survivors])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", nargs="*")
    parser.add_argument("--mutants", type=int, default=10, help="per family")
    parser.add_argument("--seed", type=int, default=0, help="of the choice among all places")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    hypothesis.settings.register_profile(
        "measured", deadline=None, derandomize=True, database=None,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    )  # fmt: skip
    os.chdir(ROOT)
    every = families()
    everything = frozenset().union(*(family.declared for family in every))
    rows, killed, made = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="tensorparity-mutants-") as scratch:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = scratch
        for family in every:
            if options.family and family.name not in options.family:
                continue
            result = measure(family, everything, options.mutants, options.seed, options.jobs)
            killed, made = killed + result.killed, made + result.mutants
            rows.append([family.name, str(result.places), str(result.mutants), str(result.killed)])
            for said in result.survivors:
                print(f"{family.name} survived: {said}", file=sys.stderr)
            print(f"{family.name}: {result.killed} of {result.mutants}", file=sys.stderr, flush=True)
    print(table(["family", "places", "mutants", "killed"], rows))
    print(f"\n{killed} of {made} killed ({100 * killed / max(made, 1):.1f} %).")


if __name__ == "__main__":
    main()
