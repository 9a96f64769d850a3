"""``Fuzz`` itself, without libraries: how long it runs, when it confirms, what Ctrl-C leaves, what it writes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tensorparity.campaign import session
from tensorparity.campaign.budget import StopReason
from tensorparity.campaign.events import Event, Progress
from tensorparity.commands.fuzz import Fuzz, FuzzSettings
from tensorparity.commands.voted_layers import VotedRun
from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.outcome import Outcome
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Stage
from tensorparity.engines.muffin.engine import MuffinEngine
from tensorparity.generators.networks.networks import NetworkSettings
from tensorparity.reporting import html
from tensorparity.reporting.fuzz_tables import render
from tensorparity.reporting.words import sentences
from tensorparity.store.database import Store, open_store
from tensorparity.targets.faults import Fault
from tensorparity.targets.hanging import HangMemory
from tensorparity.targets.runner import RunnerSettings
from tensorparity.triage import examine
from tensorparity.triage.reduction.preparation import Preparation, Prepared, ReducingSettings

TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")
NETWORKS = NetworkSettings(layers=("Dense", "ELU"), max_vertices=4, training=False, varied=False)
SETTINGS = FuzzSettings(TARGETS, models=24, stages=(Stage.BUILD, Stage.FORWARD), networks=NETWORKS)
ROUND = 8


def wrong(output: Array) -> Array:
    return np.asarray(output * np.float32(1.5) + 1)


class Begun:
    def __init__(self, outcomes: Callable[[], list[Outcome]]) -> None:
        self.outcomes = outcomes
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Pooled:
    """A fake runner that has rounds under way, as the pool has.

    Args:
        on_round: told the number of each round when its outcomes are asked for.
        on_fresh: told how many times fresh workers have been asked.
    """

    def __init__(
        self,
        inner: Any,
        on_round: Callable[[int], None] = lambda number: None,
        on_fresh: Callable[[int], None] = lambda number: None,
    ) -> None:
        self._inner, self._on_round, self._on_fresh = inner, on_round, on_fresh
        self.targets, self.broken, self.desk = inner.targets, inner.broken, inner.desk
        self.begun: list[Begun] = []
        self.fresh = 0
        self.hanging, self.settings = HangMemory(), RunnerSettings()

    def within(self, limit: object) -> Pooled:
        return self

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], *, fresh: bool = False, **more: Any) -> list[Outcome]:
        if fresh:
            self.fresh += 1
            self._on_fresh(self.fresh)
        return self._inner.run_pairs(pairs, fresh=fresh, **more)  # type: ignore[no-any-return]

    def begin_pairs(self, pairs: Sequence[tuple[Case, str]]) -> Begun:
        number = len(self.begun) + 1

        def outcomes() -> list[Outcome]:
            self._on_round(number)
            return self.run_pairs(pairs)

        self.begun.append(Begun(outcomes))
        return self.begun[-1]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def wrong_dense(fake_runner: Any) -> Any:
    return fake_runner(targets=TARGETS, planted={"keras:torch": {"Dense": wrong}})


@pytest.fixture
def right(fake_runner: Any) -> Any:
    return fake_runner(targets=TARGETS)


def run(settings: FuzzSettings, runner: Any, store: Store) -> tuple[Fuzz, list[Progress]]:
    told: list[Event] = []
    campaign = Fuzz(settings, runner, store, told.append)
    campaign.run()
    return campaign, [event for event in told if isinstance(event, Progress)]


def results(store: Store) -> list[Any]:
    return list(store.results(store.campaigns()[-1].id, "muffin"))


def cases(campaign: Fuzz) -> int:
    return campaign.tally.engines["muffin"].cases


class TestHowLong:
    @pytest.mark.parametrize("models", [0, 5, 8, 19])
    def test_a_count_is_exact(self, right: Any, store: Store, models: int) -> None:
        campaign, _ = run(replace(SETTINGS, models=models), Pooled(right), store)
        assert campaign.stop is StopReason.CASES
        assert cases(campaign) == models
        assert [result.index for result in results(store)] == list(range(models))

    def test_a_budget_is_passed_by_less_than_a_round(
        self, right: Any, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every round takes ten seconds of a clock of our own."""
        now = [100.0]
        monkeypatch.setattr("time.monotonic", lambda: now[0])

        def tick(number: int) -> None:
            now[0] += 10.0

        campaign, _ = run(replace(SETTINGS, models=None, budget=35.0), Pooled(right, tick), store)
        assert campaign.stop is StopReason.BUDGET
        assert cases(campaign) == 4 * ROUND
        assert now[0] - 100.0 - 35.0 < 10.0


class TestConfirmation:
    def test_every_so_many_networks_and_at_the_end(
        self, wrong_dense: Any, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(session, "CONFIRM_EVERY", 16)
        for enough in ("ENOUGH", "MORE_THAN_ENOUGH"):  # so that every network is convicted
            monkeypatch.setattr(examine, enough, 1000)
        _, told = run(replace(SETTINGS, models=35), Pooled(wrong_dense), store)
        confirming = [event for event in told if event.phase.startswith("confirming")]
        assert [event.done for event in confirming] == [16, 32, 35]

    def test_what_is_found_once_is_confirmed_once_and_filed_once(
        self, wrong_dense: Any, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(session, "CONFIRM_EVERY", ROUND)
        runner = Pooled(wrong_dense)
        campaign, _ = run(replace(SETTINGS, models=40), runner, store)
        found = {(f.diagnosis.klass, f.diagnosis.suspects, f.diagnosis.api) for f in campaign.session.findings.values()}
        assert found == {(Class.DEFECT, ("keras:torch",), "keras.layers.Dense")}
        assert runner.fresh < 5, "what is known is not confirmed again"
        assert {finding.id for finding in store.findings(store.campaigns()[-1].id)} == set(campaign.session.findings)
        assert sum(campaign.tally.again.values()) > 0

    def test_nothing_wrong_starts_no_fresh_worker(self, right: Any, store: Store) -> None:
        runner = Pooled(right)
        campaign, _ = run(SETTINGS, runner, store)
        assert (runner.fresh, campaign.session.findings) == (0, {})

    def test_what_reduction_shows_to_be_one_defect_is_one_finding(self, wrong_dense: Any, store: Store) -> None:
        settings = replace(SETTINGS, models=40, reducing=ReducingSettings(scripts=False))
        campaign, told = run(settings, Pooled(wrong_dense), store)
        reductions = [event for event in told if event.phase == "reducing"]
        (finding,) = campaign.session.findings.values()
        assert len(reductions) == 1, "what a known defect explains is not reduced again"
        assert campaign.session.distinct.again[finding.signature] > 1
        assert [kept.id for kept in store.findings(store.campaigns()[-1].id)] == [finding.id]


class TestInterrupted:
    def test_what_was_convicted_is_kept(self, wrong_dense: Any, store: Store) -> None:
        def stop(number: int) -> None:
            if number == 3:
                raise KeyboardInterrupt

        runner = Pooled(wrong_dense, stop)
        settings = replace(SETTINGS, models=80, reducing=ReducingSettings(scripts=False))
        campaign, told = run(settings, runner, store)
        assert campaign.stop is StopReason.INTERRUPTED
        assert len(results(store)) == 2 * ROUND
        assert {finding.diagnosis.klass for finding in campaign.session.findings.values()} == {Class.DEFECT}
        assert not [event for event in told if event.phase == "reducing"]
        assert [begun.cancelled for begun in runner.begun] == [False] * 3 + [True] * MuffinEngine.ahead
        assert store.campaigns()[-1].stop_reason == StopReason.INTERRUPTED.value
        assert "interrupted" in campaign.facts(1.0, None).notes

    def test_while_it_confirms(self, wrong_dense: Any, store: Store) -> None:
        def stop(number: int) -> None:
            if number == 1:
                raise KeyboardInterrupt

        campaign, _ = run(SETTINGS, Pooled(wrong_dense, on_fresh=stop), store)
        assert campaign.stop is StopReason.INTERRUPTED
        assert {finding.diagnosis.klass for finding in campaign.session.findings.values()} == {Class.DEFECT}

    def test_while_it_reduces(self, wrong_dense: Any, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was reduced before is kept with its reduction; the rest is filed as it is."""
        reduced: list[str] = []
        reduce = Preparation.reduce

        def reduce_two(self: Preparation, suspicions: Sequence[Suspicion], *, finish: bool) -> list[Prepared]:
            if len(reduced) == 2:
                reduced.append("stop")
                raise KeyboardInterrupt
            reduced.extend("piece" for _ in suspicions[:1])
            return reduce(self, suspicions, finish=finish)

        monkeypatch.setattr(Preparation, "reduce", reduce_two)
        monkeypatch.setattr("tensorparity.campaign.session._PIECE", 1)
        settings = replace(SETTINGS, models=40, reducing=ReducingSettings(scripts=False))
        campaign, _ = run(settings, Pooled(wrong_dense), store)
        assert campaign.stop is StopReason.INTERRUPTED
        evidence = [" ".join(sentences(finding.diagnosis)) for finding in campaign.session.findings.values()]
        assert any("reduced from" in text for text in evidence)
        assert any("reduced from" not in text for text in evidence)

    def test_twice_leaves_the_results_of_which_nothing_was_to_be_filed(self, wrong_dense: Any, store: Store) -> None:
        def stop(number: int) -> None:
            raise KeyboardInterrupt

        campaign, _ = run(SETTINGS, Pooled(wrong_dense, on_fresh=stop), store)
        assert campaign.session.findings == {}
        failed = campaign.tally.engines["muffin"].cases - len(results(store))
        assert (cases(campaign), 0 < failed < 8) == (24, True), "a resume has to look at these once more"
        assert store.campaigns()[-1].stop_reason == StopReason.INTERRUPTED.value


class TestIdentity:
    FAULT = Fault("planted", "def plant(): ...")

    @pytest.mark.parametrize(
        "other",
        [
            replace(SETTINGS, networks=replace(NETWORKS, steered=False)),
            replace(SETTINGS, networks=replace(NETWORKS, varied=True)),
            replace(SETTINGS, networks=replace(NETWORKS, max_vertices=5)),
            replace(SETTINGS, networks=replace(NETWORKS, max_cells=2)),
            replace(SETTINGS, networks=replace(NETWORKS, training=True)),
            replace(SETTINGS, networks=replace(NETWORKS, layers=("Dense",))),
            replace(SETTINGS, networks=replace(NETWORKS, unit=True)),
            replace(SETTINGS, networks=replace(NETWORKS, policies=("float64",))),
            replace(SETTINGS, oracle="muffin"),
            replace(SETTINGS, runner=RunnerSettings(faults={"keras:jax": FAULT})),
        ],
    )
    def test_other_networks_or_judges_are_another_run(self, right: Any, other: FuzzSettings) -> None:
        assert other.identity(right) != SETTINGS.identity(right)

    def test_how_long_it_runs_is_not_part_of_it(self, right: Any) -> None:
        assert replace(SETTINGS, models=1, budget=1.0).identity(right) == SETTINGS.identity(right)


class TestTables:
    def shown(self, campaign: Fuzz, other: VotedRun | None) -> str:
        console = Console(file=io.StringIO(), width=250)
        render(campaign.facts(12.0, other), console)
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]

    @pytest.fixture
    def campaign(self, wrong_dense: Any, store: Store) -> Fuzz:
        return run(SETTINGS, Pooled(wrong_dense), store)[0]

    def test_alone(self, campaign: Fuzz) -> None:
        campaign.tally.engines["muffin"].running = 12.0
        text = self.shown(campaign, None)
        rows = {line.strip().split("   ")[0]: line for line in text.splitlines()}
        assert rows["keras:tensorflow / keras:torch"].split()[-4:] == ["total", "1", "0", "0"]
        assert rows["keras:tensorflow / keras:jax"].split()[-4:] == ["total", "0", "0", "0"]
        assert "In parentheses" not in text
        assert "0 that no target could build" in text
        assert "120.0 networks per minute" in text

    def test_on_the_page(self, campaign: Fuzz) -> None:
        facts = campaign.facts(12.0, None)
        assert {"explained", "audited", "refuted", "unreduced_share"} <= set(facts.stats)
        page = html.render(replace(facts, stats={**facts.stats, "unsupported_reasons": {"no <b>such</b> thing": 3}}))
        section = page[page.index('<section id="fuzz">') :]
        numbers = "<td>total</td><td>1</td><td>0</td><td>0</td>"
        assert f"<tr><td>keras:tensorflow / keras:torch</td>{numbers}</tr>" in section
        assert "Covered: layers" in section
        assert "<td>3</td><td>no &lt;b&gt;such&lt;/b&gt; thing</td>" in section

    def test_against_the_other_way(self, campaign: Fuzz) -> None:
        own = campaign.voted
        assert {row["target"]: row["forward"] for row in own.voted}["keras:torch"] == ["Dense"]
        other = replace(own, unit=True, models=300, seed=7, voted=[{**row, "forward": []} for row in own.voted])
        text = self.shown(campaign, other)
        assert "the other way, 300 networks with --unit, seed 7" in text
        assert "1 (1)" in text
        assert "1 (0)" in self.shown(campaign, replace(own, unit=True))

    def test_the_document_says_against_what(self, campaign: Fuzz) -> None:
        other = replace(campaign.voted, unit=True, models=300, seed=7)
        tables = campaign.facts(12.0, other).stats["tables"]
        assert tables["against"] == {"unit": True, "models": 300, "seed": 7}
        assert campaign.facts(12.0, None).stats["tables"]["against"] is None


class TestResume:
    def test_a_run_is_gone_on_with_as_if_never_interrupted(self, wrong_dense: Any, tmp_path: Path) -> None:
        def document(folder: str, *parts: int) -> tuple[list[Any], Any]:
            with open_store(tmp_path / folder) as opened:
                for models in parts:
                    campaign, _ = run(replace(SETTINGS, models=models, resume=True), Pooled(wrong_dense), opened)
                stats = campaign.facts(1.0).stats
                return results(opened), (stats["coverage"], stats["tables"]["inconsistencies"], stats["models"])

        assert document("cut", 5, 19) == document("whole", 19)

    def test_it_says_so_where_there_is_nothing(self, right: Any, store: Store) -> None:
        campaign, _ = run(replace(SETTINGS, models=1, resume=True), Pooled(right), store)
        assert any(note.startswith("nothing to resume: no fuzz") for note in campaign.facts(1.0).notes)
