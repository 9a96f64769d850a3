"""``report``: what is in a store, in every form; nothing is run."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.engine import Result
from tensorparity.core.evidence import observed
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.outcome import Status
from tensorparity.core.verdict import Judgement, Kind, Stage, Verdict
from tensorparity.reporting.json_document import load_schema
from tensorparity.store.casefile import CaseFile
from tensorparity.store.database import open_store

TORCH, JAX = "keras:torch", "keras:jax"
HOSTILE = "x|y <b>`\x1b[31m]]>"
DENSE = Diagnosis(Class.DEFECT, (TORCH,), "d#0", "keras.layers.Dense", {"units": 1}, ("off by 3", HOSTILE))
SIGNATURE = "inconsistency/forward/keras:torch/keras.layers.Dense"


def finding(name: str, diagnosis: Diagnosis = DENSE, signature: str = SIGNATURE, engine: str = "cradle") -> Finding:
    versions = {TORCH: {"torch": "2.13.0"}}
    return Finding(
        name, engine, Kind.INCONSISTENCY, Stage.FORWARD, (TORCH, JAX), diagnosis, signature, versions, signature
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    with open_store(folder) as opened:
        first = opened.begin_campaign("compare", 3, {"model": "zoo:lenet5", "targets": [TORCH, JAX]})
        for name in ("cradle-1", "cradle-2"):
            opened.add_finding(first, finding(name), reproducer='print("```")\n')
        opened.add_finding(first, finding("cradle-3", replace(DENSE, klass=Class.PRECISION, suspects=())))
        opened.finish_campaign(first, "completed")
        second = opened.begin_campaign("hunt", 3, {"targets": [TORCH]})
        for index in range(4):
            verdict = Verdict(Judgement.UNDECIDED if index else Judgement.PASS, (TORCH,), "so")
            opened.record_results(
                second, "muffin", [Result(index, f"{index}" * 8, (verdict,), {TORCH: Status.COMPLETED})]
            )
        opened.add_finding(second, finding("muffin-1", signature="crash/x", engine="muffin"))
    return folder


def test_findings_and_defects_are_counted(tensorparity: Any, store: Path) -> None:
    ended = tensorparity("report", "--out", store)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.startswith("4 findings, 3 sightings, 2 defects in 2 runs.")
    assert "cradle-1" in ended.stdout
    assert "run 2: hunt, seed 3" in " ".join(ended.stdout.split())


@pytest.mark.parametrize(
    ("run", "headline"),
    [
        ("1", "3 findings, 2 sightings, 1 defect in run 1, compare zoo:lenet5."),
        ("last", "1 finding, 1 defect in run 2, hunt."),
    ],
)
def test_one_run(tensorparity: Any, store: Path, run: str, headline: str) -> None:
    assert tensorparity("report", run, "--out", store).stdout.splitlines()[0] == headline


def test_a_folder_is_a_store(tensorparity: Any, store: Path) -> None:
    assert tensorparity("report", store).stdout == tensorparity("report", "--out", store).stdout


def test_json_obeys_the_schema(tensorparity: Any, store: Path) -> None:
    document = tensorparity("report", "--out", store, "--format", "json").document
    jsonschema.validate(document, load_schema())
    assert document["command"] == "report"
    assert document["targets"] == [TORCH, JAX]
    assert document["versions"][TORCH] == {"torch": "2.13.0"}
    assert document["stats"]["per_engine"]["muffin"] == {"cases": 4, "seconds": 0.0, "undecided": 3}
    assert [item["id"] for item in document["findings"]] == ["cradle-1", "cradle-2", "cradle-3", "muffin-1"]


def test_markdown_shows_scripts_and_obeys_nobody(tensorparity: Any, store: Path) -> None:
    page = tensorparity("report", "1", "--out", store, "--format", "markdown").stdout
    assert page.startswith("# 3 findings, 2 sightings, 1 defect")
    assert "- finding cradle-1, seen 2 times" in page
    assert '````python\nprint("```")\n````' in page
    assert "x\\|y \\<b\\>\\`" in page
    assert "\x1b" not in page
    assert "| cradle-3 | precision | inconsistency |" in page


def test_junit(tensorparity: Any, store: Path) -> None:
    ended = tensorparity("report", "--out", store, "--format", "junit")
    root = ElementTree.fromstring(ended.stdout)
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("5", "2", "0")
    suites = {suite.get("name"): suite for suite in root}
    assert [case.get("name") for case in suites["muffin"]][0] == "4 cases run, 3 undecided"
    failure = suites["cradle"].find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "keras.layers.Dense with units=1 gives wrong numbers on keras:torch"
    assert "off by 3" in (failure.text or "")


def test_known_differences_are_those_of_today(tensorparity: Any, store: Path) -> None:
    config = tensorparity.folder / "tensorparity.toml"
    config.write_text(f'[[known]]\nsignature = "{SIGNATURE}"\nreason = "ours"\n')
    try:
        ended = tensorparity("report", "1", "--out", store, "--format", "junit")
        text = tensorparity("report", "1", "--out", store).stdout
    finally:
        config.unlink()
    root = ElementTree.fromstring(ended.stdout)
    assert (root.get("failures"), root.get("skipped")) == ("0", "3")
    assert text.startswith("3 findings, no defects in run 1")


def test_html_into_a_file(tensorparity: Any, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    ended = tensorparity("report", "--out", store, "--format", "html", "--output", path)
    assert (ended.code, ended.stdout) == (0, "")
    page = path.read_text()
    assert "4 findings, 3 sightings, 2 defects" in page
    assert "<b>`" not in page


def test_a_store_that_is_not_there(tensorparity: Any, tmp_path: Path) -> None:
    ended = tensorparity("report", "--out", tmp_path / "nothing")
    assert ended.code in (2, 3)
    assert len(ended.complaints) == 1


def test_a_bundle_has_a_file_for_each_library(tensorparity: Any, store: Path, tmp_path: Path) -> None:
    own = replace(finding("muffin-2"), signature="s", cluster="s")
    case = CaseFile(Case(ApiCall("torch.erf", (ArrayArg("x"),)), inputs={"x": np.ones(1, np.float32)}))
    with open_store(store) as opened:
        opened.add_finding(2, own, case, draft="# Dense is off\n\nSo.\n")
    ended = tensorparity("report", "--out", store, "--bundle", tmp_path / "bundle")
    assert ended.code == 0
    assert ended.stdout.strip() == str(tmp_path / "bundle" / "keras.md")
    page = (tmp_path / "bundle" / "keras.md").read_text()
    assert page.startswith("# keras: 3 defects in 3 reports\n")
    assert "## Dense is off\n\nSo." in page
    assert '````python\nprint("```")\n````' in page


def test_a_bundle_is_not_also_something_else(tensorparity: Any, store: Path, tmp_path: Path) -> None:
    ended = tensorparity("report", "--out", store, "--bundle", tmp_path, "--format", "json")
    assert ended.code == 2
    assert "leave out --format" in ended.stderr


class TestTwoRuns:
    """``--diff``: what is new, what is gone, what is still there."""

    @pytest.fixture
    def stores(self, tmp_path: Path) -> tuple[Path, Path]:
        folders = (tmp_path / "before", tmp_path / "after")
        for folder, names in zip(folders, (("a", "b"), ("b", "c")), strict=True):
            with open_store(folder) as opened:
                campaign = opened.begin_campaign("fuzz", 3, {"targets": [TORCH, JAX]})
                for name in names:
                    told = replace(DENSE, api=f"keras.layers.{name.upper()}")
                    opened.add_finding(campaign, finding(f"muffin-{name}", told, f"crash/{name}", "muffin"))
                verdict = Verdict(Judgement.PASS, (TORCH, JAX), "so")
                results = [Result(i, f"{i}" * 8, (verdict,), {TORCH: Status.COMPLETED}) for i in range(2)]
                opened.record_results(campaign, "muffin", results)
                opened.finish_campaign(campaign, "completed")
        return folders

    def test_new_fixed_and_still_there(self, tensorparity: Any, stores: tuple[Path, Path]) -> None:
        ended = tensorparity("report", "--diff", *stores)
        assert (ended.code, ended.stderr) == (0, "")
        said = " ".join(ended.stdout.split())
        assert said.startswith("1 new, 1 fixed, 1 still there: run 1, fuzz (after) compared with run 1, fuzz (before).")
        assert "new: keras.layers.C with units=1 gives wrong numbers on keras:torch [muffin-c]" in said
        assert "fixed: keras.layers.A with units=1 gives wrong numbers on keras:torch [muffin-a]" in said
        assert "still there: keras.layers.B" in said

    def test_as_a_document(self, tensorparity: Any, stores: tuple[Path, Path]) -> None:
        document = tensorparity("report", "--diff", *stores, "--format", "json").document
        jsonschema.validate(document, load_schema())
        difference = document["difference"]
        assert (difference["new"], difference["fixed"], difference["still_there"]) == (
            ["muffin-c"],
            ["muffin-a"],
            ["muffin-b"],
        )
        assert [item["id"] for item in document["findings"]] == ["muffin-c", "muffin-b"], "what is gone is no finding"

    def test_a_shorter_run_has_fixed_nothing(self, tensorparity: Any, stores: tuple[Path, Path]) -> None:
        before, after = stores
        with open_store(before) as opened:
            verdict = Verdict(Judgement.PASS, (TORCH, JAX), "so")
            opened.record_results(1, "muffin", [Result(2, "2" * 8, (verdict,), {TORCH: Status.COMPLETED})])
        said = " ".join(tensorparity("report", "--diff", before, after).stdout.split())
        assert said.startswith("1 new, 1 not seen again, 1 still there")
        assert "fixed" not in said

    def test_two_runs_and_nothing_else(self, tensorparity: Any, stores: tuple[Path, Path]) -> None:
        ended = tensorparity("report", "last", "--diff", *stores)
        assert (ended.code, "--diff names two runs" in ended.stderr) == (2, True)


def test_what_is_redacted_holds_no_number_of_an_input(tensorparity: Any, tmp_path: Path) -> None:
    place = {"index": [0, 1], "observed": 77.5, "expected": 80.5, "against": "reference"}
    where = {"target": TORCH, "layer": "d", "op": "Dense", "how": "forward"}
    told = replace(DENSE, evidence=(observed("off", off=3.0, ratio=9.0, **where, **place),))
    with open_store(tmp_path) as opened:
        first = opened.begin_campaign("compare", 3, {"model": "/home/me/secret/m.keras", "targets": [TORCH]})
        opened.add_finding(first, finding("cradle-1", told), reproducer="x = [77.5]\n")
    open_page, page = (
        tensorparity("report", "--out", tmp_path, "--format", "html", *more).stdout for more in ((), ("--redact",))
    )
    assert "77.5" in open_page
    assert "/home/me/secret" in open_page
    assert "77.5" not in page
    assert "/home/me/secret" not in page
    assert "keras:torch is off by 3" in page
    assert "m.keras" in page
