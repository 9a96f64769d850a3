"""The store: nothing recorded is lost, by other writers or by a kill, and a resume finds its campaign."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import tensorparity
from tensorparity.core.case import Case, ModelFile
from tensorparity.core.engine import Result
from tensorparity.core.errors import ModelRefusedError, StoreError, UsageError
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Status
from tensorparity.core.verdict import Judgement, Kind, Measure, Stage, Verdict
from tensorparity.store.casefile import CaseFile, read_case
from tensorparity.store.connection import locate
from tensorparity.store.database import Store, open_store

SAMPLES = Path(__file__).parent / "samples"

SETTINGS = {"targets": ["keras:jax", "keras:torch"], "threshold": float("inf"), "engines": {"muffin": {"rounds": 2}}}
VERDICT = Verdict(
    Judgement.FAIL, ("a", "b"), "differs", Measure("max_abs", float("inf")), 0.15, Kind.NAN, Stage.BACKWARD
)


def result(index: int, digest: str = "") -> Result:
    endings = {"a": Status.COMPLETED, "b": None}
    return Result(index, digest or f"digest-{index}", (VERDICT,), endings, {"units": {"a": (1.5, float("inf"))}})


def finding(identity: str = "f-1", klass: Class = Class.DEFECT) -> Finding:
    diagnosis = Diagnosis(klass, ("keras:jax",), "dense#0", "keras.layers.Dense", {"units": float("nan")}, ("so",))
    return Finding(identity, "muffin", Kind.NAN, Stage.FORWARD, ("keras:jax",), diagnosis, "sig", {"a": {"b": "1"}})


def case_file(value: float = 1.0) -> CaseFile:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (2,))))
    return CaseFile(Case(graph, inputs={"x": np.full((1, 2), value)}), ("keras:jax",))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "out") as opened:
        yield opened


@pytest.fixture
def campaign(store: Store) -> int:
    return store.begin_campaign("hunt", 0, SETTINGS)


def python(script: str, *args: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(tensorparity.__file__).parents[1])}
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


# Where a store is


def test_a_folder(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "deep" / "out")) as store:
        assert (tmp_path / "deep/out/store.sqlite").is_file()
        assert store.folder == tmp_path / "deep/out"
        assert store.cases == tmp_path / "deep/out/cases"


def test_a_file_and_a_url(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.begin_campaign("hunt", 1, {})
    for place in (tmp_path / "store.sqlite", f"sqlite:///{tmp_path}/store.sqlite"):
        with open_store(place, create=False) as store:
            assert store.folder == tmp_path
            assert len(store.campaigns()) == 1
    with open_store(f"sqlite:///{tmp_path}/other.sqlite", folder=tmp_path / "elsewhere") as store:
        assert store.folder == tmp_path / "elsewhere"


def test_postgresql_urls_use_the_driver_we_install(tmp_path: Path) -> None:
    location = locate("postgresql://me:secret@host/db", tmp_path)
    assert location.url.drivername == "postgresql+psycopg"
    assert str(location) == "postgresql+psycopg://me:***@host/db"


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("postgresql://me:secret@host/db", "does not say where case files go"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("nonsense://me:secret@host/db", "'nonsense' URL of a store is not understood"),
    ],
)
def test_urls_that_cannot_be(url: str, match: str) -> None:
    with pytest.raises(UsageError, match=match) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


def test_reading_commands_make_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at .*earlier run"):
        open_store(tmp_path / "typo", create=False)
    assert not (tmp_path / "typo").exists()


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be made"):
        open_store(tmp_path / "file" / "out")


# What is refused


def test_newer_format(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / "store.sqlite") as database:
        database.execute("UPDATE tensorparity_store SET version = 2")
    database.close()
    with pytest.raises(StoreError, match="has format 2, this version of tensorparity reads 1; update tensorparity"):
        open_store(tmp_path)


def test_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").write_text("this is a text file, and long enough to be looked at" * 99)
    with pytest.raises(StoreError, match="not a database; move the file away") as caught:
        open_store(tmp_path)
    assert "\n" not in str(caught.value)


def test_database_of_somebody_else(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "store.sqlite") as database:
        database.execute("CREATE TABLE campaigns (voters INTEGER)")
    database.close()
    with pytest.raises(StoreError, match=r"tables \['campaigns'\] of somebody else"):
        open_store(tmp_path)


def test_empty_database_is_no_store_to_read(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").touch()
    with pytest.raises(StoreError, match="is not a store of tensorparity"):
        open_store(tmp_path, create=False)


def test_interrupted_creation_is_completed(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / "store.sqlite") as database:
        database.execute("DELETE FROM tensorparity_store")
        database.execute("DROP TABLE findings")
    database.close()
    with open_store(tmp_path) as store:
        kept = store.add_finding(store.begin_campaign("hunt", 0, {}), finding())
        assert [found.id for found in store.findings()] == [kept.id]


def test_sample_of_schema_1_reads_for_ever(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "store-schema-1", tmp_path / "store")
    with open_store(tmp_path / "store", create=False) as store:
        (first, second) = store.campaigns()
        assert (first.command, first.seed, first.stop_reason) == ("hunt", 2**70, "budget")
        assert store.find_campaign("hunt", 2**70, SETTINGS) == first
        assert second.finished is None
        old = [replace(result(index), measures={}) for index in range(2)]
        assert store.results(first.id, "muffin") == old
        (kept,) = store.findings()
        assert kept.to_json()["suspects"] == ["keras:jax"]
        path = store.case_path(kept)
        assert path is not None
        assert read_case(path).case.digest == case_file().case.digest
        store.record_results(second.id, "muffin", [result(0)])  # and it can be continued
        assert store.results(second.id, "muffin") == [result(0)]


# Campaigns


def test_campaign(store: Store, campaign: int) -> None:
    kept = store.campaign(campaign)
    assert (kept.command, kept.seed, kept.settings) == ("hunt", 0, SETTINGS)
    assert datetime.fromisoformat(kept.started).utcoffset() == timedelta(0)
    assert kept.finished is kept.stop_reason is None
    store.finish_campaign(campaign, "budget")
    kept = store.campaign(campaign)
    assert kept.stop_reason == "budget"
    assert kept.finished is not None
    assert kept.finished >= kept.started


def test_find_campaign(store: Store) -> None:
    assert store.find_campaign("hunt", 0, SETTINGS) is None
    first = store.begin_campaign("hunt", 0, SETTINGS)
    second = store.begin_campaign("hunt", 0, dict(reversed(SETTINGS.items())))
    for other in (("fuzz", 0, SETTINGS), ("hunt", 1, SETTINGS), ("hunt", 0, {**SETTINGS, "threshold": 1})):
        assert store.find_campaign(*other) is None

    def found() -> int | None:
        kept = store.find_campaign("hunt", 0, SETTINGS)
        return kept.id if kept else None

    assert found() == second
    store.finish_campaign(second, "budget")
    assert found() == first, "the unfinished one first"
    store.finish_campaign(first, "budget")
    assert found() == second, "else the latest"


def test_unknown_campaign(store: Store) -> None:
    for action in (
        lambda: store.campaign(9),
        lambda: store.finish_campaign(9, "x"),
        lambda: store.record_results(9, "muffin", [result(0)]),
        lambda: store.add_finding(9, finding()),
    ):
        with pytest.raises(StoreError, match="has no campaign 9"):
            action()


# Results


def test_results_come_in_order_of_index(store: Store, campaign: int) -> None:
    for index in (2, 0, 10, 1):
        store.record_results(campaign, "muffin", [result(index)])
    store.record_results(campaign, "eagle", [result(0)])
    assert store.results(campaign, "muffin") == [result(index) for index in (0, 1, 2, 10)]
    assert store.results(campaign, "eagle") == [result(0)]
    assert store.results(campaign, "audee") == []


def test_recording_again_changes_nothing(store: Store, campaign: int) -> None:
    store.record_results(campaign, "muffin", [result(0)])
    store.record_results(campaign, "muffin", [Result(0, "digest-0")])
    store.record_results(campaign, "muffin", [result(0), result(1)])
    store.record_results(campaign, "muffin", [])
    assert store.results(campaign, "muffin") == [result(0), result(1)]


def test_another_case_in_the_same_place_is_refused(store: Store, campaign: int) -> None:
    store.record_results(campaign, "muffin", [result(3)])
    with pytest.raises(StoreError, match="generator has changed; start a new campaign"):
        store.record_results(campaign, "muffin", [result(3, digest="another")])


# Findings


def test_finding_with_case(store: Store, campaign: int) -> None:
    kept = store.add_finding(campaign, finding(), case_file())
    assert kept.case == f"cases/{campaign}/f-1.tpcase"
    path = store.case_path(kept)
    assert path is not None
    assert read_case(path).case.digest == case_file().case.digest
    (read,) = store.findings(campaign)
    assert str(read) == str(kept)  # as text: a NaN does not equal itself
    assert store.case_path(store.add_finding(campaign, finding("bare"))) is None


def test_a_draft_shows_the_script_that_is_kept(store: Store, campaign: int) -> None:
    draft = "# So\n\n```python\nprint(1)\n```\n"
    kept = store.add_finding(campaign, finding(), case_file(), reproducer="print(1)\n", draft=draft)
    store.change_texts(campaign, kept, script="print(2)\n", remark="## Settings\n\nalways\n")
    script, told = store.script_path(kept), store.draft_path(kept)
    assert script is not None
    assert told is not None
    assert script.read_text() == "print(2)\n"
    assert told.read_text() == "# So\n\n```python\nprint(2)\n```\n\n## Settings\n\nalways\n"


def test_findings_are_idempotent_on_their_id(store: Store, campaign: int) -> None:
    kept = store.add_finding(campaign, finding(), case_file())
    again = store.add_finding(campaign, finding(klass=Class.FLAKY), case_file(2.0))
    assert again.diagnosis.klass is Class.DEFECT
    assert len(store.findings()) == 1
    path = store.case_path(kept)
    assert path is not None
    assert read_case(path).case.digest == case_file().case.digest


def test_two_campaigns_keep_their_own_case_files(store: Store) -> None:
    ids = [store.begin_campaign("hunt", seed, {}) for seed in (1, 2)]
    for number in ids:
        store.add_finding(number, finding(), case_file(number))
    paths = [store.case_path(kept) for kept in store.findings()]
    assert [read_case(path).case.digest for path in paths if path] == [case_file(n).case.digest for n in ids]
    assert len(store.findings(ids[0])) == 1


def test_findings_in_the_order_they_were_added(store: Store, campaign: int) -> None:
    for name in "cab":
        store.add_finding(campaign, finding(name))
    assert [kept.id for kept in store.findings(campaign)] == ["c", "a", "b"]


@pytest.mark.parametrize("identity", ["", "../x", "a/b", ".hidden", "a\n", "x" * 300])
def test_ids_that_are_no_file_names(store: Store, campaign: int, identity: str) -> None:
    with pytest.raises(StoreError, match="cannot name a file"):
        store.add_finding(campaign, finding(identity), case_file())


def test_no_row_without_its_case_file(store: Store, campaign: int) -> None:
    gone = CaseFile(Case(ModelFile("gone.onnx", "0" * 64, "onnx")))
    with pytest.raises(ModelRefusedError):
        store.add_finding(campaign, finding(), gone, embed_model=True)
    store.cases.write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="cannot write cases/"):
        store.add_finding(campaign, finding(), case_file())
    assert store.findings() == []


# Several writers, and the end of them


def test_threads_share_a_store(store: Store, campaign: int) -> None:
    def write(engine: str) -> None:
        for index in range(20):
            store.record_results(campaign, engine, [result(index)])

    threads = [threading.Thread(target=write, args=(engine,)) for engine in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(store.results(campaign, engine)) for engine in "abcd"] == [20] * 4


WRITER = """
    import sys
    from tensorparity.core.finding import Class, Diagnosis, Finding
    from tensorparity.core.verdict import Kind, Stage
    from tensorparity.core.engine import Result
    from tensorparity.store.database import open_store

    folder, engine, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open_store(folder) as store:
        campaign = store.begin_campaign("hunt", 0, {"writer": engine})
        print(campaign, flush=True)
        for index in range(count):
            store.record_results(campaign, engine, [Result(index, f"{engine}-{index}")])
            store.record_results(1, "shared", [Result(index, f"shared-{index}")])
            diagnosis = Diagnosis(Class.DEFECT)
            store.add_finding(1, Finding(f"f{index}", engine, Kind.NAN, Stage.CALL, (), diagnosis, "s"))
            print(index, flush=True)
"""


def test_processes_open_a_new_store_and_write_at_once(tmp_path: Path) -> None:
    writers = [python(WRITER, tmp_path, engine, 40) for engine in ("a", "b", "c")]
    for writer in writers:
        writer.communicate(timeout=120)
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    with open_store(tmp_path, create=False) as store:
        assert sorted(kept.settings["writer"] for kept in store.campaigns()) == ["a", "b", "c"]
        for kept in store.campaigns():
            assert len(store.results(kept.id, kept.settings["writer"])) == 40
        assert [kept.index for kept in store.results(1, "shared")] == list(range(40))
        assert len(store.findings(1)) == 40


@pytest.mark.parametrize("after", [0, 3, 17])
def test_kill_leaves_a_readable_store_with_all_that_was_acknowledged(tmp_path: Path, after: int) -> None:
    writer = python(WRITER, tmp_path, "a", 1_000_000)
    assert writer.stdout is not None
    campaign = int(writer.stdout.readline())
    seen = -1
    while seen < after:
        seen = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    rest = [int(line) for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    writer.stdout.close()
    assert writer.wait(timeout=60) == -signal.SIGKILL
    seen = rest[-1] if rest else seen
    with open_store(tmp_path) as store:
        indices = [kept.index for kept in store.results(campaign, "a")]
        assert indices == list(range(len(indices)))
        assert seen + 1 <= len(indices) <= seen + 2
        assert len(store.findings(campaign)) >= seen + 1
        resumed = store.find_campaign("hunt", 0, {"writer": "a"})
        assert resumed is not None
        assert resumed.id == campaign
        store.record_results(campaign, "a", [Result(len(indices), "next")])
