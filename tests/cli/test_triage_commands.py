"""``accept`` and ``report --issue``: what they write, print and refuse; no worker is started."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.cli.exit_codes import FailOn, exit_code
from tensorparity.cli.options import case_file
from tensorparity.commands.known_differences import accept, with_known
from tensorparity.core.case import Case
from tensorparity.core.comparison import Comparison, LayerDeviation
from tensorparity.core.errors import UsageError
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.verdict import Judgement, Kind, Stage, Verdict
from tensorparity.reporting.facts import Facts, TargetFacts
from tensorparity.reporting.summary import summarize
from tensorparity.store.casefile import CaseFile
from tensorparity.store.database import open_store

DIAGNOSIS = Diagnosis(Class.DEFECT, ("keras:torch",), "d#0", "keras.layers.Dense")
FINDING = Finding("cradle-1", "cradle", Kind.INCONSISTENCY, Stage.FORWARD, (), DIAGNOSIS, "inconsistency/forward/D/1")
FACTS = Facts("hunt", 0, (), {"cases": 1}, (FINDING,))


TORCH, JAX = "keras:torch", "keras:jax"


def compared(targets: tuple[str, ...], model: str, layers: tuple[str, ...]) -> Facts:
    """A comparison in which nothing was found."""
    seen = tuple(LayerDeviation(f"l{index}", 0, name) for index, name in enumerate(layers))
    pair = Comparison(targets[0], targets[1], "y", Verdict(Judgement.PASS, targets, "same"), 1, layers=seen)
    return Facts("compare", 0, tuple(map(TargetFacts, targets)), {}, comparisons=(pair,), subject=model)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (1,))))
    case = CaseFile(Case(graph, inputs={"x": np.ones((1, 1), np.float32)}))
    with open_store(tmp_path / "store") as opened:
        campaign = opened.begin_campaign("compare", 0, {"model": "zoo:lenet5"})
        opened.add_finding(campaign, FINDING, case, reproducer="print(1)\n", draft="# Dense is wrong\n")
        opened.add_finding(campaign, replace(FINDING, id="cradle-2"))
    return tmp_path / "store"


class TestStore:
    def test_scripts_and_drafts_are_kept_beside_the_case(self, store: Path) -> None:
        with open_store(store) as opened:
            first, second = opened.findings()
            assert first.reproducer == "cases/1/cradle-1.py"
            script = opened.script_path(first)
            draft = opened.draft_path(first)
            assert (opened.script_path(second), opened.draft_path(second)) == (None, None)
        assert script is not None
        assert draft is not None
        assert (script.read_text(), draft.read_text()) == ("print(1)\n", "# Dense is wrong\n")


class TestCase:
    """CASE is a file, or the id of a finding."""

    def test_an_id_is_looked_up(self, store: Path) -> None:
        found = case_file("cradle-1", None, store)
        assert found == store / "cases/1/cradle-1.tpcase"
        assert case_file("cradle-1", str(store), Path("elsewhere")) == found

    def test_a_file_is_a_file(self, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("cradle-1").write_bytes(b"")
        assert case_file("cradle-1", None, store) == Path("cradle-1")
        assert case_file("none.tpcase", None, store) == Path("none.tpcase")

    @pytest.mark.parametrize(("case", "says"), [("cradle-2", "has no case file"), ("cradle-3", "there are: cradle-1")])
    def test_what_there_is_not(self, store: Path, case: str, says: str) -> None:
        with pytest.raises(UsageError, match=says):
            case_file(case, None, store)

    def test_no_store(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cradle-1 is no file, and no finding can be looked up"):
            case_file("cradle-1", None, tmp_path)


class TestKnown:
    def config(self, folder: Path, **entry: Any) -> Path:
        path = folder / "tensorparity.toml"
        accept(FINDING, "as documented", config=path, **entry)
        return path

    def test_what_is_known_fails_no_run_and_is_counted(self, tmp_path: Path) -> None:
        facts = with_known(FACTS, self.config(tmp_path))
        assert (exit_code(FACTS, FailOn(), False), exit_code(facts, FailOn(), False)) == (1, 0)
        assert not facts.defects
        assert facts.document()["known"][0]["findings"] == ["cradle-1"]
        assert facts.notes == ("known difference inconsistency/forward/D/1 accepts 1 finding: as documented",)
        assert "no defects" in summarize(facts).headline

    def test_an_entry_that_matches_nothing_is_called_out(self, tmp_path: Path) -> None:
        nothing = replace(FACTS, findings=())
        config = self.config(tmp_path)
        (note,) = with_known(nothing, config).notes
        assert note.startswith("known difference inconsistency/forward/D/1 matched nothing in this run: if it is fixed")
        assert with_known(nothing, config, unmatched=False).notes == ()

    @pytest.mark.parametrize(
        ("targets", "model", "layers", "told"),
        [
            ((TORCH, JAX), "elsewhere/m.keras", (), True),
            (("keras:torch@nightly{threads=2}", JAX), "m.keras", (), True),
            (("keras:tensorflow", JAX), "m.keras", (), False),
            ((TORCH, JAX), "other.keras", ("D",), False),
        ],
    )
    def test_only_a_run_that_would_have_met_it_calls_it_out(
        self, tmp_path: Path, targets: tuple[str, ...], model: str, layers: tuple[str, ...], told: bool
    ) -> None:
        config = self.config(tmp_path, model="m.keras")
        assert bool(with_known(compared(targets, model, layers), config).notes) is told

    @pytest.mark.parametrize(("layers", "told"), [(("D",), True), (("C",), False), ((), False)])
    def test_without_a_model_its_layer_must_have_been_looked_at(
        self, tmp_path: Path, layers: tuple[str, ...], told: bool
    ) -> None:
        config = self.config(tmp_path)
        assert bool(with_known(compared((TORCH, JAX), "m.keras", layers), config).notes) is told

    def test_shared_code_is_met_on_any_backend(self, tmp_path: Path) -> None:
        config = tmp_path / "tensorparity.toml"
        shared = replace(FINDING, diagnosis=replace(DIAGNOSIS, suspects=("keras",)))
        accept(shared, "as documented", config=config)
        assert with_known(compared((JAX, "onnxruntime"), "m", ("D",)), config).notes
        assert not with_known(compared(("openvino", "onnxruntime"), "m", ("D",)), config).notes

    def test_a_pattern_of_many_layers_is_met_by_any(self, tmp_path: Path) -> None:
        config = self.config(tmp_path, pattern="inconsistency/*/*/*")
        assert with_known(compared((TORCH, JAX), "m", ()), config).notes
        assert not with_known(compared(("keras:tensorflow", JAX), "m", ()), config).notes

    def test_an_expired_entry_accepts_nothing(self, tmp_path: Path) -> None:
        config = self.config(tmp_path, expires=date(2100, 1, 1))
        facts = with_known(FACTS, config, today=date(2100, 1, 2))
        assert exit_code(facts, FailOn(), False) == 1
        assert "has expired (2100-01-01)" in facts.notes[0]

    def test_a_pattern_must_match(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="does not match"):
            self.config(tmp_path, pattern="crash/*")
        with_known(FACTS, self.config(tmp_path, pattern="inconsistency/*/D/*"))


class TestCommands:
    def test_accept_and_report(self, tensorparity: Any, store: Path) -> None:
        accepted = tensorparity("accept", "cradle-1", "--reason", "ours", "--expires", "2027-01-31", "--out", store)
        assert (accepted.code, accepted.stderr) == (0, "")
        config = tensorparity.folder / "tensorparity.toml"
        lines = config.read_text().splitlines()
        assert lines[1:3] == ['signature = "inconsistency/forward/D/1"', 'reason = "ours"']
        assert lines[3:] == ['model = "zoo:lenet5"', 'targets = ["keras:torch"]', "expires = 2027-01-31"]
        config.unlink()
        reported = tensorparity("report", "--issue", "cradle-1", "--out", store)
        assert (reported.code, reported.stdout) == (0, "# Dense is wrong\n")

    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (("accept", "nobody", "--reason", "x"), "has no finding 'nobody'; there are: cradle-1, cradle-2"),
            (("accept", "cradle-1", "--reason", " "), "needs a reason"),
            (("accept", "cradle-1"), "Missing option '--reason'"),
            (("accept", "cradle-1", "--reason", "x", "--expires", "soon"), "'soon' is not a date; expected YYYY-MM-DD"),
            (("accept", "cradle-1", "--reason", "x", "--expires", "2020-01-31"), "2020-01-31 lies in the past"),
            (("report", "--issue", "cradle-2"), "cradle-2 has no draft"),
            (("report", "7"), "has no run '7'; there are: 1 (compare), or last"),
            (("report", "--issue", "cradle-1", "--format", "html"), "is markdown or json"),
            (("report", "1", "--issue", "cradle-1"), "leave out '1'"),
        ],
    )
    def test_what_is_refused(self, tensorparity: Any, store: Path, arguments: tuple[str, ...], complaint: str) -> None:
        ended = tensorparity(*arguments, "--out", store)
        assert (ended.code, ended.stdout) == (2, "")
        assert complaint in ended.stderr
