"""The bundle of drafts: a file per library, the worst first, minor defects of a kind in one report."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tensorparity.core.evidence import observed
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.jsontext import Json
from tensorparity.core.verdict import Kind, Stage
from tensorparity.reporting.bundle import libraries_of, minor_kind, render
from tensorparity.reporting.facts import Facts, KnownFacts

TF, TORCH = "keras:tensorflow", "torch:eager"


def finding(
    name: str, kind: Kind = Kind.INCONSISTENCY, suspects: tuple[str, ...] = (TORCH,), relative: float | None = None
) -> Finding:
    diagnosis = Diagnosis(Class.DEFECT, suspects, api=f"torch.{name}", relative=relative)
    versions = {target: {"torch": "2.13.0"} for target in suspects}
    return Finding(name, "muffin", kind, Stage.CALL, suspects, diagnosis, f"of {name}", versions)


def overflowing(given: float, right: float, **further: Json) -> Finding:
    where = {"target": TORCH, "layer": "call", "op": "call", "how": "forward", "against": "reference", "index": []}
    said = observed("not-finite", observed=given, expected=right, **where, **further)
    found = finding("cosh", Kind.NAN)
    return replace(found, diagnosis=replace(found.diagnosis, evidence=(said,)))


def facts(*findings: Finding, **further: object) -> Facts:
    return Facts("report", 0, (), {}, findings, **further)  # type: ignore[arg-type]


def headings(page: str) -> list[str]:
    return re.findall(r"^## (.+)$", page, re.M)


@pytest.mark.parametrize(
    ("suspects", "libraries"),
    [
        ((TORCH,), ["torch"]),
        ((TF, "keras:jax"), ["keras"]),
        ((TF, TORCH), ["keras", "torch"]),
        (("exporter:tf2onnx",), ["tf2onnx"]),
        (("keras",), ["keras"]),
        (("onnxruntime{threads=1}", "onnxruntime@old"), ["onnxruntime"]),
    ],
)
def test_whose_report_it_is(suspects: tuple[str, ...], libraries: list[str]) -> None:
    assert libraries_of(finding("f", suspects=suspects)) == libraries


def test_a_file_for_each_library_with_the_worst_first() -> None:
    crash, refusal = finding("b", Kind.CRASH), finding("a", Kind.ERROR)
    pages = render(facts(refusal, finding("w"), crash, finding("k", suspects=(TF,))))
    assert sorted(pages) == ["keras.md", "torch.md"]
    assert pages["torch.md"].startswith("# torch: 3 defects in 3 reports\n")
    assert [name for heading in headings(pages["torch.md"]) for name in re.findall(r"torch\.(\w)", heading)] == [
        "b",
        "w",
        "a",
    ]
    assert "torch.k" in pages["keras.md"]
    assert "torch 2.13.0" in pages["torch.md"]


def test_what_is_no_new_defect_stays_out() -> None:
    accepted, rounding = finding("a"), finding("r")
    rounding = replace(rounding, diagnosis=replace(rounding.diagnosis, klass=Class.PRECISION))
    assert render(facts(accepted, rounding, known=(KnownFacts("x", "ours", findings=("a",)),))) == {}


def test_one_report_for_a_cluster() -> None:
    first = replace(finding("a"), cluster="one")
    page = render(facts(first, replace(finding("b"), cluster="one")))["torch.md"]
    assert len(headings(page)) == 1


def test_what_was_not_reduced_is_listed_and_makes_no_report() -> None:
    raw = replace(finding("raw"), reduced=False)
    page = render(facts(finding("done"), raw))["torch.md"]
    assert page.startswith("# torch: 1 defect in 1 report\n")
    assert headings(page)[-1] == "Not yet to be filed: 1 defect"
    assert "tensorparity reduce raw" in page
    with_script = render(facts(finding("done"), raw, scripts={"raw": "print(1)\n"}))["torch.md"]
    assert with_script.startswith("# torch: 2 defects in 2 reports\n")
    assert "Not yet" not in with_script


def test_minor_ones_of_a_kind_are_one_report_with_all_scripts() -> None:
    few = [finding(name, relative=1e-6) for name in ("erf", "ndtr")]
    scripts = {"erf": "print(1)\n", "ndtr": "print(2)\n"}
    page = render(facts(finding("wrong"), *few, scripts=scripts))["torch.md"]
    assert page.startswith("# torch: 3 defects in 2 reports\n")
    assert headings(page)[-1] == "Digits in the tail: 2 defects"
    assert "```python\nprint(1)\n```" in page
    assert "```python\nprint(2)\n```" in page


def test_one_minor_defect_has_its_own_report() -> None:
    page = render(facts(finding("erf", relative=1e-6)))["torch.md"]
    assert "Digits in the tail" not in page
    assert len(headings(page)) == 1


@pytest.mark.parametrize(
    ("given", "right", "further", "kind"),
    [
        (float("inf"), 2e38, {}, "overflow"),
        (float("-inf"), -2e38, {}, "overflow"),
        (float("inf"), 1e308, {}, "overflow"),
        (float("inf"), 1e20, {}, ""),
        (float("nan"), 2e38, {}, ""),
        (float("inf"), float("nan"), {}, ""),
        (1.0, float("inf"), {}, ""),
        (float("inf"), 60000.0, {"dtype": "float16"}, "overflow"),
        (float("inf"), 60000.0, {}, ""),
        (float("inf"), 2e38, {"dtype": "float64"}, ""),
    ],
)
def test_what_overflows_a_bit_early(given: float, right: float, further: dict[str, Json], kind: str) -> None:
    assert minor_kind(overflowing(given, right, **further)) == kind


def test_a_draft_is_taken_one_level_down_but_for_its_code() -> None:
    draft = "# torch.a is wrong\n\n## To reproduce\n\n```python\n# a comment\n```\n\n## Expected\n\n1\n"
    page = render(facts(finding("a"), drafts={"a": draft}))["torch.md"]
    assert "\n## torch.a is wrong\n\n### To reproduce\n\n```python\n# a comment\n```\n\n### Expected\n\n1\n" in page


def test_a_planted_fault_is_said_also_where_drafts_are_not_shown() -> None:
    few = [finding(name, relative=1e-6) for name in ("erf", "ndtr")]
    warning = "**Do not send this: the fault `x` was planted in the library.**"
    page = render(facts(*few, drafts={"erf": f"# erf\n\n{warning}\n"}))["torch.md"]
    assert page.count(warning) == 1


def test_names_of_strangers_stay_in_the_folder() -> None:
    assert list(render(facts(finding("a", suspects=("../../x y:z",))))) == ["x-y.md"]
