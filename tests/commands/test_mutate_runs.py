"""``mutate`` on targets that compute in NumPy: how a run ends, what it left open, and that it can be gone on with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.budget import StopReason
from tensorparity.campaign.events import Event, Progress, silent
from tensorparity.cli.exit_codes import FailOn, exit_code
from tensorparity.commands.mutate import Mutate, MutateSettings
from tensorparity.core.case import Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.engines.audee.seeds import SeedModel
from tensorparity.engines.audee.settings import AudeeSettings
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.store.database import open_store

TARGETS = ("keras:jax", "keras:tensorflow", "keras:torch")
AUDEE = AudeeSettings(variants=4, invalid=0.0, levels=())


def seed_model() -> SeedModel:
    build = GraphBuilder("small")
    x = build.add("Dense", build.input("x", (4,)), name="hidden", units=3, activation="relu")
    graph = build.build(build.add("Softmax", build.add("Dense", x, name="logits", units=2), name="classes"))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((5, 4)).astype(np.float32)}
    return SeedModel("small", graph, draw_weights(graph, rng), inputs)


class Interrupted:
    """A runner in whose work somebody presses Ctrl-C, after so many requests."""

    def __init__(self, inner: Any, after: int) -> None:
        self._inner, self._left = inner, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run_pairs(self, pairs: Any, **more: Any) -> list[Outcome]:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        found: list[Outcome] = self._inner.run_pairs(pairs, **more)
        return found


@pytest.fixture
def run(tmp_path: Path, fake_runner: Any) -> Callable[..., Mutate]:
    def mutated(
        after: int | None = None, planted: Any = None, listener: Any = silent, folder: str = "store", **settings: Any
    ) -> Mutate:
        chosen = MutateSettings(TARGETS, audee=AUDEE, store=tmp_path / folder, **settings)
        fake = fake_runner(targets=TARGETS, planted=planted or {})
        with open_store(chosen.store) as store:
            runner = fake if after is None else Interrupted(fake, after)
            campaign = Mutate(chosen, runner, store, [seed_model()], [], listener)
            campaign.run()
            return campaign

    return mutated


def test_a_run_to_its_end_says_so_and_ends_with_0(run: Any) -> None:
    facts = run(cases=4).facts(1.0)
    assert facts.notes[0] == f"ended because {StopReason.CASES.value}"
    assert (facts.interrupted, facts.suspected, exit_code(facts, FailOn(), False)) == (False, (), 0)


def test_ctrl_c_ends_with_3(run: Any) -> None:
    facts = run(after=1, cases=4).facts(1.0)
    assert facts.interrupted
    assert facts.notes[0] == "interrupted"
    assert exit_code(facts, FailOn(), False) == 3


def test_what_there_was_no_time_to_confirm_is_said(run: Any) -> None:
    campaign = run(cases=0)
    case = Case(seed_model().graph, inputs=dict(seed_model().inputs))
    diagnosis = Diagnosis(Class.DEFECT, ("keras:torch",), api="keras.layers.Dense")
    campaign.session.unconfirmed.append(Suspicion(Kind.INCONSISTENCY, diagnosis, case, TARGETS))
    facts = campaign.facts(1.0)
    assert facts.suspected == (("keras:torch",),)
    (said,) = campaign.session.open_questions()
    assert said in facts.notes


def test_an_oracle_that_judged_nothing_is_said(run: Any) -> None:
    def notes(oracle: str) -> list[str]:
        return [note for note in run(cases=4, oracle=oracle).facts(1.0).notes if note.startswith("the oracle ")]

    assert notes("") == []
    (said,) = notes("eagle")
    assert said == "the oracle eagle judges equivalences; other cases of audee are judged by other rules"


def test_a_run_is_gone_on_with_and_a_new_one_is_said_to_be_new(run: Any) -> None:
    first = run(cases=2)
    again = run(cases=4, resume=True)
    assert again.tally.engines["audee"].resumed == 2
    assert not any("nothing to resume" in note for note in first.facts(1.0).notes + again.facts(1.0).notes)
    other = run(cases=4, resume=True, seed=1)
    assert other.tally.engines["audee"].resumed == 0
    assert any(note.startswith("nothing to resume: no mutate") for note in other.facts(1.0).notes)


def test_who_watches_sees_how_far_it_is(run: Any) -> None:
    seen: list[Event] = []
    run(cases=4, listener=seen.append)
    details = [event.detail for event in seen if isinstance(event, Progress) and event.phase == "audee"]
    assert any(detail.startswith("small: 4 of 4 variants, ") for detail in details)
