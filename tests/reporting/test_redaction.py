"""--redact: nothing that an input gave, no message of a library, no folder; and still who is wrong, and where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tensorparity.core.closeup import Closeup
from tensorparity.core.evidence import Evidence, observed
from tensorparity.core.finding import Class
from tensorparity.core.precision import HighPrecision
from tensorparity.core.self_agreement import SelfAgreement
from tensorparity.core.verdict import Judgement, Kind, Verdict
from tensorparity.reporting.facts import Facts
from tensorparity.reporting.html import render as render_html
from tensorparity.reporting.json_document import render as render_json
from tensorparity.reporting.markdown import render as render_markdown
from tensorparity.reporting.redacted_evidence import KEPT, redacted_evidence
from tensorparity.reporting.redaction import plain, redacted
from tensorparity.reporting.words import SENTENCES, sentence, title

from .conftest import JAX, TF, TORCH, compare, finding, targets

SECRET = "secret 77.5 in /home/me/private/x.npz"
SECRETS = ("secret", "77.5", "80.5", "/home", "[3, 4]")
#: A field of every name that any code has, as full of secrets as its kind allows.
EVERYTHING: dict[str, Any] = {
    "target": TORCH, "targets": [TORCH], "layer": "conv", "op": "Conv2D", "how": SECRET, "against": "reference",
    "observed": 77.5, "expected": 80.5, "index": [3, 4], "off": 3.0, "ratio": 5.0, "given": [3], "wanted": [2],
    "called": "sin(77.5)", "message": SECRET, "reason": SECRET, "why": SECRET, "ending": SECRET, "along": SECRET,
    "slope": 77.5, "low": 80.5, "high": 80.5, "parameters": {"x": 77.5}, "allowed": 77.5, "stopped": SECRET,
    "guilty": [{"parameter": "alpha", "values": [77.5]}], "status": "raised", "type": "ValueError", "api": "torch.sin",
    "dtype": "float32", "count": 2, "announced": "float32", "most": ["float32"], "words": "either", "source": "docs",
    "library": "keras", "test": "test_x", "tried": ["threads=1"], "missing": [], "needed": [], "rows": 3,
    "runtimes": [TORCH], "originals": [JAX], "output": "y", "together": 1e-7, "apart": 0.1, "exporter": "torch.onnx",
    "relative": 0.1, "layers": 3, "measured": 2, "checks": 4, "nodes": 3, "numbers": 9, "nodes_after": 1,
    "numbers_after": 2, "written": True, "a": TF, "b": JAX, "rate": 2.0, "optimizer": "Adam", "rule": "jit",
    "name": "0", "wrong": 1, "kind": "nan", "distance": 0.5, "odd": TORCH, "changed": 3, "inputs": 4, "places": ["p"],
    "package": "torch", "right": [], "gone": "off", "by": "OpInfo",
}  # fmt: skip
OF_CODE: dict[str, dict[str, Any]] = {
    "outvoted-dtype": {"given": ["float32"]},
    "stretch": {"layers": ["a", "b"]},
    "adjacent-layers": {"layers": ["a", "b"]},
    "witness": {"right": True},
}


def test_every_code_is_allowed_or_not_on_purpose() -> None:
    assert set(KEPT) == set(SENTENCES)


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_of_each_code_only_what_is_allowed_is_said(code: str) -> None:
    kept = redacted_evidence(observed(code, **{**EVERYTHING, "how": "forward", **OF_CODE.get(code, {})}))
    assert kept is not None
    assert sentence(kept)
    if code in ("both-ways", "breaks-rule", "paper-fails"):
        kept = redacted_evidence(observed(code, **EVERYTHING))
        assert kept is not None
    for secret in SECRETS:
        assert secret not in sentence(kept)
        assert secret not in str(kept.data)


@pytest.mark.parametrize("evidence", [Evidence("words", text=SECRET), Evidence("of-a-plug-in", {"x": 1}, SECRET)])
def test_words_of_others_are_left_out(evidence: Evidence) -> None:
    assert redacted_evidence(evidence) is None


def test_nan_stays_nan_in_the_sentence_and_the_title() -> None:
    where = {"layer": "conv", "op": "Conv2D", "how": "forward", "against": "reference", "target": TORCH}
    evidence = observed("not-finite", observed="NaN", expected=77.5, index=[1], **where)
    found = finding("f", kind=Kind.NAN, evidence=(evidence,))
    (after,) = redacted(compare(findings=(found,))).findings
    assert sentence(after.diagnosis.observations[0]) == (
        "keras:torch gives NaN where the reference gives a number, in conv (Conv2D) run alone on identical inputs"
    )
    assert title(after) == title(found)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("keras:torch raised: shape 77.5", "keras:torch raised"),
        ("the layers could not be read: secret", "the layers could not be read"),
        ("it ended in ValueError: secret 77.5", "it ended in ValueError"),
        ("data: /home/me/a.npz (3 instances)", "data: a.npz (3 instances)"),
        ("in '/home/me/a b.npz'", "in 'a b.npz'"),
        (r"in C:\Users\me\a.npz", "in a.npz"),
        ("module at ~/x/y.py", "module at y.py"),
        ("drawn: x (3, 4) float32 in 0..1", "drawn: x (3, 4) float32 in 0..1"),
        ("keras:jax / keras:torch, conv/kernel, 1/2", "keras:jax / keras:torch, conv/kernel, 1/2"),
    ],
)
def test_sentences_of_ours_keep_what_is_ours(text: str, left: str) -> None:
    assert plain(text) == left


CLOSEUP = Closeup((3,), (0,), (0,), (0,), ((77.5,),), ((80.5,),), ((3.0,),), TORCH)


def leaky() -> Facts:
    """Secrets wherever a run can have them."""
    evidence = (observed("says", **EVERYTHING), Evidence("words", text=SECRET))
    found = finding("f", evidence=evidence, parameters={"vocabulary": [SECRET], "path": "/home/me", "units": 3})
    stopped = finding("g", Class.UNSUPPORTED, not_reduced=SECRET, reduced=False)
    stopped = replace(stopped, diagnosis=replace(stopped.diagnosis, closeup=CLOSEUP))
    judged = Verdict(Judgement.UNDECIDED, (TF, TORCH), f"keras:torch raised: {SECRET}")
    facts = compare(
        subject="/home/me/private/model.onnx",
        targets=targets(torch=("raised", f"ValueError: {SECRET}"), jax=("broken", SECRET)),
        findings=(found, stopped),
        notes=(f"data: {SECRET.split()[-1]}", f"not stressed: {SECRET}"),
        alerts=("The data of /home/me/private/x.npz",),
        scripts={"f": SECRET},
        drafts={"f": SECRET},
        self_agreement=(SelfAgreement(TF, "run 2", problem=SECRET),),
        high_precision=HighPrecision(left_out=f"keras:jax raised: {SECRET}"),
        undecided={f"keras:torch raised: {SECRET}": 2, "keras:torch raised: another": 1},
    )
    first, *rest = facts.comparisons or ()
    return replace(facts, comparisons=(replace(first, verdict=judged), *rest))


@pytest.mark.parametrize("rendered", [render_markdown, render_html, render_json])
def test_no_report_tells(rendered: Any) -> None:
    page = rendered(redacted(leaky()))
    for secret in ("secret", "77.5", "80.5", "/home", "private"):
        assert secret not in page, page[max(0, page.index(secret) - 80) : page.index(secret) + 40]
    assert "secret" in rendered(leaky())
    assert "ValueError" in page
    assert "model.onnx" in page or rendered is render_markdown


def test_equal_reasons_are_counted_together() -> None:
    assert redacted(leaky()).undecided == {"keras:torch raised": 3}
