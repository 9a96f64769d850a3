"""Clusters against roots, on findings that are made up."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.verdict import Kind, Stage
from tensorparity.store.database import open_store

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def grouping() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_grouping", ROOT / "bench" / "grouping.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def found(identity: str, cluster: str, *, reduced: bool | None = True, klass: Class = Class.DEFECT) -> Finding:
    return Finding(
        id=identity,
        engine="muffin",
        kind=Kind.INCONSISTENCY,
        stage=Stage.FORWARD,
        targets=("keras:jax", "keras:torch"),
        diagnosis=Diagnosis(klass, ("keras:torch",)),
        signature=f"s-{identity}",
        cluster=cluster,
        reduced=reduced,
    )


def several(*clusters: str) -> list[Finding]:
    return [found(f"f{place}", cluster) for place, cluster in enumerate(clusters)]


def roots_of(*names: str) -> dict[str, str]:
    return {f"f{place}": name for place, name in enumerate(names)}


@pytest.mark.parametrize(
    ("clusters", "roots", "rand", "precision"),
    [
        ("aabb", "xxyy", 1.0, 1.0),
        ("abcd", "xxyy", 0.0, 1.0),
        ("aaaa", "xxyy", 0.0, 2 / 6),
        ("aaab", "xxyy", 0.0, 1 / 3),
        ("aabbc", "xxyyy", 6 / 11, 1.0),
    ],
)
def test_partitions_by_hand(
    grouping: ModuleType, clusters: Sequence[str], roots: Sequence[str], rand: float, precision: float
) -> None:
    done = grouping.grouping(several(*clusters), roots_of(*roots))
    assert done.rand == pytest.approx(rand)
    assert done.precision == pytest.approx(precision)
    assert (done.clusters, done.roots) == (len(set(clusters)), len(set(roots)))


def test_what_is_no_defect_or_has_no_root_is_left_out(grouping: ModuleType) -> None:
    findings = [*several("a", "a"), found("f2", "c", klass=Class.PRECISION), found("f3", "d"), found("f0", "a")]
    done = grouping.grouping(findings, roots_of("x", "x", "y"))
    assert (done.findings, done.unlabelled, done.clusters, done.roots) == (2, 1, 1, 1)


def test_what_is_not_reduced_and_what_is_mixed_is_said(grouping: ModuleType) -> None:
    findings = [replace(one, reduced=place != 3) for place, one in enumerate(several("a", "a", "b", "c"))]
    done = grouping.grouping(findings, roots_of("x", "y", "x", "z"))
    assert done.unreduced == 1
    alone = [replace(one, reduced=place == 1) for place, one in enumerate(several("a", "a"))]
    assert grouping.grouping(alone, roots_of("x", "x")).unreduced == 0, "one of the cluster was reduced"
    assert (done.mixed, done.split) == ({"a": ("x", "y")}, {"x": ("a", "b")})
    assert done.lines[0] == "4 findings, 3 clusters, 3 roots"
    assert "clusters / roots 1.00; not reduced 33.3 %" in done.lines[1]


def test_roots_are_read_line_by_line(grouping: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "roots.csv"
    path.write_text('id,root\nmuffin-1,"padding, same"\n\nmuffin-2,nan\n')
    assert grouping.read_roots(path) == {"id": "root", "muffin-1": "padding, same", "muffin-2": "nan"}
    path.write_text("muffin-1\n")
    with pytest.raises(ValueError, match="roots.csv:1"):
        grouping.read_roots(path)


def test_the_command_reads_stores(tmp_path: Path) -> None:
    for number in range(2):
        with open_store(tmp_path / f"store{number}") as store:
            campaign = store.begin_campaign("fuzz", number, {})
            store.add_finding(campaign, found(f"f{number}", "one"))
    roots = tmp_path / "roots.csv"
    roots.write_text("f0,x\nf1,x\n")
    command = [sys.executable, str(ROOT / "bench" / "clusters.py"), "--roots", str(roots)]
    done = subprocess.run(
        [*command, str(tmp_path / "store0"), str(tmp_path / "store1")], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith(
        "2 findings, 1 clusters, 1 roots\nadjusted Rand index 1.000; pairwise precision 1.000"
    )
