"""What all commands that run cases have in common: their options, and how they end."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pytest

from tensorparity.cli.campaigns import Run, campaign_options, gathered
from tensorparity.cli.exit_codes import FailOn
from tensorparity.cli.main import cli
from tensorparity.commands.chosen_oracle import notes_on_oracle
from tensorparity.core.errors import UsageError
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.verdict import Kind, Stage
from tensorparity.reporting.facts import Facts

CAMPAIGNS = ("hunt", "compare", "fuzz", "mutate", "precision", "equiv")
COMMON = {
    "--targets",
    "--seed",
    "--budget",
    "--cases",
    "--store",
    "--out",
    "--fault",
    "--oracle",
    "--set",
    "--import",
    "--trust",
    "--format",
    "--quiet",
    "--fail-on",
}
DIAGNOSIS = Diagnosis(Class.DEFECT, ("keras:torch",), "d#0", "keras.layers.Dense")
FINDING = Finding("cradle-1", "cradle", Kind.INCONSISTENCY, Stage.FORWARD, (), DIAGNOSIS, "inconsistency/forward/D/1")
FACTS = Facts("hunt", 0, (), {"cases": 1}, ())


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_every_campaign_has_the_common_options(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert {text for item in command.params for text in item.opts} >= COMMON


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_an_oracle_is_looked_up_before_anything_is_started(name: str, tmp_path: Path) -> None:
    model = ["zoo:resnet20"] if name == "compare" else []
    with pytest.raises(UsageError, match=r"unknown oracle 'craddle' \(did you mean cradle\?\); known are"):
        cli.main([name, *model, "--oracle", "craddle", "--out", str(tmp_path / "out")], standalone_mode=False)
    assert not (tmp_path / "out").exists()


MANY = replace(FACTS, findings=tuple(replace(FINDING, id=str(n), signature=str(n)) for n in range(12)))


@dataclass(frozen=True)
class Done:
    facts: Facts
    broken: bool = False


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"sections": None, "runner": None}
    return Run(
        None,
        0,
        oracle="",
        store=None,
        out=tmp_path / "out",
        fail_on=FailOn(),
        output_format="text",
        quiet=False,
        **given,
    )


class TestFinish:
    def test_a_person_is_told_where_everything_is(self, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
        code = run.finish(Done(FACTS), store=Path("kept"), tables=lambda facts, console: console.print("own tables"))
        lines = capsys.readouterr().out.splitlines()
        assert code == 0
        assert lines[-3:] == ["own tables", "Store:  kept", f"Report: {run.out / 'report.html'}"]
        assert (run.out / "report.html").is_file()

    def test_a_page_of_one_case_is_not_the_last_run_s(self, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
        run.finish(Done(FACTS), page="case")
        (page,) = run.out.iterdir()
        assert re.fullmatch(r"hunt-case-[0-9-]+\.html", page.name)
        assert "Store:" not in capsys.readouterr().out

    @pytest.mark.parametrize("page", ["", "case"])
    def test_no_run_overwrites_the_page_of_another(self, run: Run, page: str) -> None:
        for seed in range(4):
            run.finish(Done(replace(FACTS, seed=seed)), page=page)
        pages = [path for path in run.out.iterdir() if path.name != "report.html"]
        assert len(pages) == 4
        seeds = {found for path in pages for found in re.findall("seed ([0-9])", path.read_text())}
        assert seeds == {"0", "1", "2", "3"}
        if not page:
            assert "seed 3" in (run.out / "report.html").read_text()

    @pytest.mark.parametrize(
        ("page", "named"), [("", r"all are in report\.html"), ("case", r"in hunt-case-[0-9-]+\.html")]
    )
    def test_more_is_where_a_page_was_written(
        self, run: Run, page: str, named: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run.finish(Done(MANY), page=page)
        assert re.search(rf"and 2 more defects: .*{named}", capsys.readouterr().out)

    def test_nobody_is_sent_to_a_page_that_was_not_written(self, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
        run.finish(Done(MANY), page=None)
        said = capsys.readouterr().out
        assert "and 2 more defects: --format html or json has all" in said
        assert ".html" not in said

    def test_no_page_where_none_is_wanted(self, run: Run) -> None:
        run.finish(Done(FACTS), page=None)
        assert not run.out.exists()

    @pytest.mark.parametrize("change", [{"quiet": True}, {"output_format": "json"}])
    def test_nothing_else_is_printed(self, run: Run, change: Any, capsys: pytest.CaptureFixture[str]) -> None:
        replace(run, **change).finish(
            Done(FACTS), store=Path("kept"), tables=lambda facts, console: console.print("tables")
        )
        printed = capsys.readouterr().out
        assert json.loads(printed)["command"] == "hunt" if printed else "quiet" in change

    def test_facts_are_changed_before_anybody_sees_them(self, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
        replace(run, output_format="json").finish(Done(FACTS), change=lambda facts: replace(facts, seed=7))
        assert json.loads(capsys.readouterr().out)["seed"] == 7

    @pytest.mark.parametrize(
        ("done", "broken", "code"),
        [
            (Done(FACTS), False, 0),
            (Done(FACTS), True, 3),
            (Done(FACTS, broken=True), False, 3),
            (Done(replace(FACTS, findings=(FINDING,)), broken=True), False, 1),
        ],
    )
    def test_exit_codes(self, run: Run, done: Done, broken: bool, code: int) -> None:
        assert run.finish(done, broken=broken) == code


@pytest.mark.parametrize(
    ("store", "kept", "folder"),
    [(None, "out", None), ("here", "here", None), ("sqlite:///a/b.sqlite", "sqlite:///a/b.sqlite", "out")],
)
def test_where_a_campaign_is_kept(run: Run, store: str | None, kept: str, folder: str | None) -> None:
    settings = replace(run, store=store, out=Path("out")).settings()
    assert str(settings["store"]) == kept
    assert (settings["folder"] and str(settings["folder"])) == folder


def test_values_of_several_options_come_as_one_argument() -> None:
    @click.command()
    @click.option("--low", default=1)
    @click.option("--high", default=2)
    @click.option("--other", default="o")
    @gathered("limits", lambda low, high: range(low, high))
    def command(limits: range, other: str) -> Any:
        return limits, other

    assert command.main(["--high", "5"], standalone_mode=False) == (range(1, 5), "o")


def test_a_command_of_its_own_gets_its_run() -> None:
    @click.command()
    @campaign_options("Who judges.", resumable=False, reduces=False, tries_settings=False)
    def command(run: Run) -> Run:
        return run

    made = command.main(["--seed", "3", "--oracle", "muffin", "--no-cache"], standalone_mode=False)
    assert (made.seed, made.oracle, made.runner.cache, made.resume) == (3, "muffin", None, False)
    assert {"--resume", "--no-reduce", "--settings"}.isdisjoint(text for item in command.params for text in item.opts)
    with pytest.raises(UsageError, match="unknown oracle"):
        command.main(["--oracle", "delphi"], standalone_mode=False)


class TestNotes:
    """Predoo's searches are measured by one oracle and judged by another."""

    SEARCHED = {"predoo": {"operator_errors", "precision"}}

    @pytest.mark.parametrize("chosen", ["", "precision"])
    def test_nothing_is_said_of_the_default(self, chosen: str) -> None:
        assert notes_on_oracle(chosen, self.SEARCHED, "precision") == []

    def test_who_judges_something_else(self) -> None:
        (note,) = notes_on_oracle("muffin", self.SEARCHED, "precision")
        assert note == "the oracle muffin judges training steps; other cases of predoo are judged by other rules"

    def test_who_took_the_place(self) -> None:
        assert notes_on_oracle("parity", {"cradle": {"parity", "audee_measures"}}, "cradle") == []

    def test_where_all_is_only_measured(self) -> None:
        (note,) = notes_on_oracle("muffin", {"predoo": {"predoo_op_mode"}}, "precision")
        assert note.startswith("the oracle muffin judged nothing")
