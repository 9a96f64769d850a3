"""A plugin of pytest: this model, on these inputs, must be the same on these targets.

    def test_my_model_is_the_same_everywhere(tensorparity):
        tensorparity(my_model, inputs, targets=["torch:eager", "onnxruntime"])

The fixture compares and fails the test if something differs, with the answer of ``tensorparity compare`` instead of a
traceback: the target that is wrong, the layer, the evidence. Known differences of ``tensorparity.toml`` are accepted as
everywhere else. The marker ``tensorparity`` sets for one test what the options set for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .api import ParityResult

_MARKER = "tensorparity(targets=..., instances=..., seed=..., ...): arguments of tensorparity.compare for this test"
#: Options by what they set: how they are read, and what help says.
_OPTIONS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "targets": (str, "Targets of all parity tests, separated by commas; a test's own go before them."),
    "instances": (int, "Use at most so many inputs."),
    "seed": (int, "Seed of inputs that are drawn."),
    "config": (Path, "The tensorparity.toml with the known differences."),
}
_KEPT = pytest.StashKey[list["_Compared"]]()


@dataclass(frozen=True)
class _Compared:
    """One comparison of a test session."""

    test: str
    headline: str
    report: Path | None = None


@dataclass
class ParityCheck:
    """What the fixture hands to a test.

    Args:
        defaults: arguments from the options and from the test's marker.
        folder: where a page per comparison is written; None for nowhere.
    """

    test: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    compared: list[_Compared] = field(default_factory=list)

    def __call__(self, model: Any, data: Any = None, *, undecided: str = "fail", **arguments: Any) -> ParityResult:
        """Compare, and fail the test unless the model is the same everywhere.

        Args:
            undecided: ``fail``, or ``pass`` where it is enough that nothing was found to differ.
            arguments: those of ``tensorparity.compare``.

        Raises:
            ParityError: if it is not.
        """
        __tracebackhide__ = True
        if undecided not in ("fail", "pass"):
            raise ValueError(f"undecided: expected 'fail' or 'pass'. Received: {undecided!r}")
        result = self.compare(model, data, **arguments)
        result.raise_for_difference()
        if undecided == "fail" and not result.same:
            from .api import ParityError

            raise ParityError(result.text)
        return result

    def compare(self, model: Any, data: Any = None, **arguments: Any) -> ParityResult:
        """Compare, and leave it to the test what to make of the answer."""
        from .api import compare

        result = compare(model, data, **{"reduce": False, **self.defaults, **arguments})
        report = self._write_page(result)
        self.compared.append(_Compared(self.test, result.headline, report))
        return result

    def _write_page(self, result: ParityResult) -> Path | None:
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.test).strip("-")
        path = self.folder / f"{name}-{len(self.compared)}.html"
        path.write_text(result.to_html(), encoding="utf-8")
        return path


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tensorparity", "one model, several targets")
    for name, (kind, text) in _OPTIONS.items():
        group.addoption(f"--tensorparity-{name}", type=kind, default=None, help=text)
    group.addoption("--tensorparity-report", type=Path, default=None, help="Folder for an HTML page per comparison.")
    group.addoption("--tensorparity-skip", action="store_true", help="Skip tests that compare models.")
    parser.addini("tensorparity_targets", "Targets of all parity tests, separated by commas.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    config.stash[_KEPT] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--tensorparity-skip"):
        return
    for item in items:
        if "tensorparity" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason="--tensorparity-skip"))


@pytest.fixture
def tensorparity(request: pytest.FixtureRequest) -> Generator[ParityCheck]:
    """Compares a model across targets, and fails the test if it is not the same: ``tensorparity(model, data)``."""
    config = request.config
    check = ParityCheck(request.node.name, _defaults(request), config.getoption("--tensorparity-report"))
    yield check
    config.stash[_KEPT] += check.compared


def _defaults(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Arguments of ``compare``: of the ini file, the options, and the nearest marker, each over the one before."""
    config = request.config
    found: dict[str, Any] = {}
    if config.getini("tensorparity_targets"):
        found["targets"] = config.getini("tensorparity_targets")
    given = {name: config.getoption(f"--tensorparity-{name}") for name in _OPTIONS}
    found.update({name: value for name, value in given.items() if value is not None})
    marker = request.node.get_closest_marker("tensorparity")
    if marker is not None and marker.args:
        raise pytest.UsageError(f"the marker tensorparity takes named arguments only. Received: {marker.args!r}")
    return {**found, **(marker.kwargs if marker else {})}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The answer instead of a traceback: where a test calls the fixture says nothing of a layer."""
    report = yield
    if call.excinfo is not None:
        from .api import ParityError

        if isinstance(call.excinfo.value, ParityError):
            report.longrepr = str(call.excinfo.value)
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    compared = config.stash.get(_KEPT, [])
    if compared and (config.get_verbosity() > 0 or config.getoption("--tensorparity-report")):
        terminalreporter.section("tensorparity")
        for item in compared:
            page = f" ({item.report})" if item.report else ""
            terminalreporter.write_line(f"{item.test}: {item.headline}{page}")
