"""The command line itself: quick, quiet, and with exit codes that mean something."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from tensorparity import __version__
from tensorparity.cli import main as module
from tensorparity.cli.exit_codes import FailOn, exit_code
from tensorparity.cli.main import COMMANDS, cli, main
from tensorparity.cli.options import Duration, Size
from tensorparity.core.errors import RunError, UsageError
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.verdict import Kind, Stage
from tensorparity.reporting.facts import Facts

LIBRARIES = ("tensorflow", "jax", "torch", "keras", "onnxruntime", "onnx", "sqlalchemy", "rich", "jinja2")


class TestHelp:
    def test_it_takes_under_half_a_second(self, tensorparity: Any) -> None:
        """Of CPU time, which does not depend on what else the machine is doing."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert tensorparity("--help").code == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5

    def test_it_imports_no_library(self) -> None:
        script = (
            "import sys, json\n"
            "from tensorparity.cli.main import main\n"
            "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
            "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        loaded = set(json.loads(done.stdout.splitlines()[-1]))
        assert not loaded & set(LIBRARIES)

    def test_it_lists_every_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            main(["--help"])
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        assert all(f"  {name} " in shown for name in COMMANDS)

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_help_and_takes_json(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            main([command, "-h"])
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        assert "--format" in shown
        assert "--quiet" in shown

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_option_says_what_it_is_for(self, command: str) -> None:
        found = cli.get_command(click.Context(cli), command)
        assert found is not None
        silent = [p.opts for p in found.params if isinstance(p, click.Option) and not p.hidden and not p.help]
        assert not silent

    @pytest.mark.parametrize("command", ["replay", "reduce", "localize"])
    def test_a_case_brings_its_own_targets_and_seed(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main([command, "-h"])
        shown = " ".join(capsys.readouterr().out.split())
        assert "The targets to run. [default: those of CASE]" in shown
        assert "--seed" not in shown

    def test_no_command_shows_the_help_as_a_usage_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            main([])
        assert ended.value.code == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("Usage: tensorparity")
        assert len(captured.err.splitlines()) > 5

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["--version"])
        assert __version__ in capsys.readouterr().out


class TestExitCodes:
    @pytest.mark.parametrize(
        ("error", "code", "line"),
        [
            (UsageError("no such\n  thing"), 2, "tensorparity: no such thing"),
            (click.UsageError("bad option"), 2, "tensorparity: bad option"),
            (RunError("all is lost"), 3, "tensorparity: all is lost"),
            (KeyboardInterrupt(), 3, "tensorparity: interrupted"),
            (click.Abort(), 3, "tensorparity: interrupted"),
        ],
        ids=["usage", "click", "run", "ctrl-c", "abort"],
    )
    def test_errors(
        self,
        error: BaseException,
        code: int,
        line: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            self.run(error, monkeypatch)
        assert ended.value.code == code
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.strip() == line

    def test_our_own_bugs_do_not_look_like_defects(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            self.run(ZeroDivisionError("oops"), monkeypatch)
        assert ended.value.code == 3
        shown = capsys.readouterr().err
        assert "ZeroDivisionError: oops" in shown
        assert shown.splitlines()[-1].startswith("tensorparity: this is a bug in tensorparity")

    @staticmethod
    def run(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*arguments: Any, **options: Any) -> None:
            raise error

        monkeypatch.setattr(module.cli, "main", fail)
        main(["targets"])

    @pytest.mark.parametrize(
        ("klass", "fail_on", "broken", "code"),
        [
            (None, (Class.DEFECT,), False, 0),
            (Class.DEFECT, (Class.DEFECT,), False, 1),
            (Class.DEFECT, (Class.DEFECT,), True, 1),
            (Class.FLAKY, (Class.DEFECT,), False, 0),
            (Class.PRECISION, (Class.DEFECT, Class.PRECISION), False, 1),
            (None, (Class.DEFECT,), True, 3),
        ],
    )
    def test_findings(self, klass: Class | None, fail_on: tuple[Class, ...], broken: bool, code: int) -> None:
        findings = ()
        if klass:
            diagnosis = Diagnosis(klass)
            findings = (Finding("id", "cradle", Kind.ERROR, Stage.FORWARD, ("a",), diagnosis, "signature"),)
        assert exit_code(Facts("compare", 0, (), {}, findings), FailOn(fail_on), broken) == code


@pytest.mark.parametrize(
    ("convert", "text", "value"),
    [
        (Duration().convert, "90", 90.0),
        (Duration().convert, "1.5m", 90.0),
        (Duration().convert, "2h", 7200.0),
        (Size().convert, "8G", 8 << 30),
        (Size().convert, "500MiB", 500 << 20),
        (Size().convert, "12", 12),
    ],
)
def test_units(convert: Callable[..., float], text: str, value: float) -> None:
    assert convert(text, None, None) == value
