"""Line coverage in a worker: what ran, what did not, and what is not the package's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tensorparity.targets.line_coverage import coverage_totals

_MODULE = """\
def used(x):
    if x:
        return 1
    return 2


def unused():
    return 3
"""
_SCRIPT = """\
import json, sys
sys.path[:0] = {paths!r}
from tensorparity.worker.lines import LineCoverage
coverage = LineCoverage("watched")
coverage.start()
from watched.inner import used
import json.tool
used(True)
first = coverage.report()
used(False)
print(json.dumps([first, coverage.report()]))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "watched"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "inner.py").write_text(_MODULE)
    (folder / "inner_test.py").write_text(_MODULE)
    (folder / "broken.py").write_text("def (:\n")
    return tmp_path


def test_lines_of_the_package_are_counted(package: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    script = _SCRIPT.format(paths=[str(package), str(source)])
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    first, second = json.loads(ended.stdout)
    assert set(first) == {"__init__.py", "inner.py", "broken.py"}, "tests that a package ships do not count"
    assert first["inner.py"] == [4, 6], "two definitions, and two of the three lines of one of them"
    assert second["inner.py"] == [5, 6]
    assert first["broken.py"] == [0, 0]


def test_sums_by_folder() -> None:
    found = coverage_totals({"a.py": (1, 2), "src/ops/b.py": (3, 4), "src/ops/deep/c.py": (0, 5)})
    assert (found["executed"], found["lines"]) == (4, 11)
    assert found["folders"] == {
        ".": {"executed": 1, "lines": 2},
        "src/ops": {"executed": 3, "lines": 9},
    }
