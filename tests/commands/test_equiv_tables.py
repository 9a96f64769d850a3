"""What ``equiv`` says at its end: the paper's tables beside ours, RQ3, coverage; which targets a library stands for."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from tensorparity.commands.equiv import _with_tables, choose_libraries
from tensorparity.core.errors import UsageError
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.verdict import Judgement, Kind, Stage, Verdict
from tensorparity.engines.eagle.settings import EagleSettings
from tensorparity.engines.eagle.tables import EagleTally
from tensorparity.reporting.equiv_tables import lines, render
from tensorparity.reporting.facts import Facts

TORCH = "torch:eager"
FAILED = (Verdict(Judgement.FAIL, (TORCH,), "so"),)
PASSED = (Verdict(Judgement.PASS, (TORCH,), "so"),)


def finding(api: str, kind: Kind, signature: str) -> Finding:
    diagnosis = Diagnosis(Class.DEFECT, (TORCH,), api=api)
    return Finding(signature, "eagle", kind, Stage.CALL, (TORCH,), diagnosis, signature)


def facts(libraries: tuple[str, ...], packing: dict[str, Any] | None = None) -> Facts:
    """Two pairs of torch that differ in one defect, one that crashes, and one that agrees."""
    (strided,) = EagleSettings(rules=("strided",)).chosen()
    (traced,) = EagleSettings(rules=("jit-trace",)).chosen()
    tally = EagleTally()
    tally.add_plain("torch.fmod", "(3,)", 10)
    for rule in (strided, traced):
        tally.add_pair(rule, "torch.fmod", 10, FAILED)
    tally.add_pair(strided, "torch.kthvalue", 20, FAILED)
    tally.add_pair(strided, "torch.sin", 10, PASSED, one_sided=2)
    others = {"torch.fmod": ["jax"], "torch.kthvalue": []}
    tables = {
        **tally.to_json({rule.name: rule for rule in (strided, traced)}, {"torch": 800}),
        "counterparts": others,
        "libraries": list(libraries),
    }
    stats: dict[str, Any] = {"engine_tables": {"eagle": tables}, "worker_seconds": {TORCH: 8.0}, "seconds": 9.0}
    stats |= {"packing": packing} if packing else {}
    found = (finding("torch.fmod", Kind.EQUIVALENCE, "a"), finding("torch.kthvalue", Kind.CRASH, "b"))
    return _with_tables(Facts("equiv", 0, (), stats, findings=found))


def test_table_3_has_seconds_for_each_pair() -> None:
    told = facts(("torch",)).stats["equivalences"]["table_3"]["torch"]
    assert told == {"pairs": 4, "inputs_per_pair": 12.5, "worker_seconds_per_pair": 2.0}


def test_what_an_oracle_for_crashes_would_see_and_what_nobody_else_has() -> None:
    told = facts(("jax", "torch")).stats["equivalences"]
    assert told["defects"] == 2
    assert told["seen_by_crash_oracle"] == ["torch.kthvalue"]
    assert told["no_counterpart"] == ["torch.kthvalue"]


def test_one_library_alone_knows_of_no_counterparts() -> None:
    assert facts(("torch",)).stats["equivalences"]["no_counterpart"] is None
    assert any("only one ran" in line for line in lines(facts(("torch",))))


def test_both_counts_are_printed_beside_the_papers() -> None:
    said = "\n".join(lines(facts(("jax", "torch"))))
    for text in ("4 (paper: 6861", "1939 for TensorFlow, 800 of them", "522 for PyTorch", "(paper: 1212)"):
        assert text in said
    assert "Pairs that differ: 3 (the paper calls each a bug: 25); distinct defects by signature: 2" in said
    assert "no target is blamed: 2" in said
    assert "would see 1 of 2 (paper: 5 of 25): torch.kthvalue" in said


def test_what_was_packed_is_shown_beside_what_was_run_alone() -> None:
    way = {"packed": {"completed": 3}, "alone": {"completed": 2, "raised": 1}, "same": 2, "close": 0, "different": 1}
    packing = {"packs": 2, "calls": 30, "fail_alone": 1, "ways": {"xla": way}}
    out = io.StringIO()
    render(facts(("torch",), packing), Console(file=out, width=140))
    assert "2 completed, 1 raised" in out.getvalue()
    assert "30 cases in 2 units" in out.getvalue()
    assert "Coverage by rule" in out.getvalue()


def test_a_library_stands_for_what_compiles_nothing_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorparity.commands.equiv.installed_target", lambda target: True)
    assert choose_libraries("torch") == [TORCH]
    assert choose_libraries("torch:compile") == ["torch:compile"]
    assert {"keras:jax", "keras:torch", "keras:tensorflow"} <= set(choose_libraries("keras"))
    monkeypatch.setattr("tensorparity.commands.equiv.installed_target", lambda target: False)
    with pytest.raises(UsageError):
        choose_libraries("torch")


def test_a_run_of_something_else_has_no_tables() -> None:
    out = io.StringIO()
    render(replace(facts(("torch",)), stats={}), Console(file=out))
    assert out.getvalue() == ""
