"""Known differences: read, written, matched, expired, unmatched."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tensorparity.core.errors import UsageError
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.verdict import Kind, Stage
from tensorparity.triage.known_differences import KnownDifference, add_known, match_known, read_known

TODAY = date(2026, 11, 16)
SIGNATURE = "inconsistency/forward/Conv2D/0123"


def finding(signature: str = SIGNATURE, cluster: str | None = None) -> Finding:
    diagnosis = Diagnosis(Class.DEFECT, ("keras:torch",))
    return Finding("f-1", "cradle", Kind.INCONSISTENCY, Stage.FORWARD, (), diagnosis, signature, cluster=cluster)


@pytest.mark.parametrize(
    ("entry", "matches"),
    [
        (KnownDifference("why", SIGNATURE), True),
        (KnownDifference("why", "inconsistency/forward/Conv2D/0124"), False),
        (KnownDifference("why", pattern="inconsistency/*/Conv2D/*"), True),
        (KnownDifference("why", pattern="crash/*"), False),
    ],
)
def test_matching(entry: KnownDifference, matches: bool) -> None:
    (matched,) = match_known([entry], [finding()], TODAY)
    assert matched.findings == (("f-1",) if matches else ())


def test_a_member_of_the_cluster_matches() -> None:
    assert KnownDifference("why", "c").matches(finding("other", cluster="c"))


@pytest.mark.parametrize(("expires", "accepted"), [(date(2026, 11, 16), True), (date(2026, 11, 15), False)])
def test_expiry(expires: date, accepted: bool) -> None:
    (matched,) = match_known([KnownDifference("why", SIGNATURE, expires=expires)], [finding()], TODAY)
    assert (bool(matched.findings), matched.expired) == (accepted, not accepted)


def test_written_entries_come_back(tmp_path: Path) -> None:
    config = tmp_path / "tensorparity.toml"
    config.write_text('[environments.old]\npython = "py"  # mine')
    entries = [
        KnownDifference('a "quoted"\nreason', SIGNATURE, link="https://x.org/1", expires=date(2027, 1, 31)),
        KnownDifference("why", pattern="crash/*"),
    ]
    for entry in entries:
        add_known(entry, config)
    assert read_known(config) == entries
    assert config.read_text().startswith('[environments.old]\npython = "py"  # mine\n\n[[known]]')
    with pytest.raises(UsageError, match="already"):
        add_known(entries[0], config)


def test_no_file_no_entries(tmp_path: Path) -> None:
    assert read_known(tmp_path / "none.toml") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[known]]\nreason = 'x'", "either a signature or a pattern"),
        ("[[known]]\nsignature = 'a'\npattern = 'b'\nreason = 'x'", "either a signature or a pattern"),
        ("[[known]]\nsignature = 'a'", "has no reason"),
        ("[[known]]\nsignature = 'a'\nreason = 'x'\nexpires = 'soon'", "expires is a date"),
        ("known = 1", "expected \\[\\[known\\]\\]"),
        ("[[known", "not valid TOML"),
    ],
)
def test_what_is_no_entry(tmp_path: Path, text: str, message: str) -> None:
    config = tmp_path / "tensorparity.toml"
    config.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_known(config)
