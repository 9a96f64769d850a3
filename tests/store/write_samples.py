"""Writes the case files of ``samples/written/cases`` and what they and the stores beside them are known by.

``python tests/store/write_samples.py``: once per format. What is there stays as it is; a new format gets a new folder.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tensorparity.campaign.filing import make_finding
from tensorparity.core.case import ApiCall, ArrayArg, Case, Counterpart, ModelFile
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.store.casefile import CaseFile, read_case, write_case
from tensorparity.store.database import Store, open_store
from tensorparity.triage.known_differences import read_known

FOLDER = Path(__file__).parent / "samples" / "written"
VALUES = FOLDER / "values.json"
_SHA256 = "4c3ec7e58c16b4aa45fd6d1d8fb2dd8e1b6d1c0a1a1f7fbd3fb1ff5ecdbd0c7b"


def _graph() -> LayerGraph:
    build = GraphBuilder("sample")
    first = build.add("Dense", build.input("x", (3,)), name="first", units=2, activation="relu")
    return build.build(build.add("Dense", first, name="last", units=1))


def _weights() -> dict[str, Any]:
    shapes = {"first/kernel": (3, 2), "first/bias": (2,), "last/kernel": (2, 1), "last/bias": (1,)}
    return {name: np.full(shape, 0.5, np.float32) for name, shape in shapes.items()}


def cases() -> Iterator[tuple[str, CaseFile]]:
    """One of each kind of subject, and of each thing that a case can say."""
    x = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)
    plain = Case(_graph(), inputs={"x": x}, weights=_weights(), seed=7)
    step = Procedure(
        Goal.UPDATE,
        training=True,
        loss=Recipe("Huber", {"delta": 2.0}),
        optimizer=Recipe("SGD", {"learning_rate": 0.5}),
    )
    yield "graph", CaseFile(plain, ("keras:jax", "keras:torch"), {"keras:jax": {"jax": "1.2.3"}}, note="forward")
    labels = {"last": np.ones((2, 1), np.float32)}
    yield "step", CaseFile(replace(plain, procedure=step, labels=labels), ("keras:jax",), suspects=("keras:jax",))
    pulled = Procedure(Goal.REPLAY, nodes=("first#0",), mode=Mode.EAGER)
    cotangents = {"first#0": np.ones((2, 2), np.float32)}
    yield "replay", CaseFile(replace(plain, procedure=pulled, inputs={"first#0/0": x}, cotangents=cotangents))
    yield "reloaded", CaseFile(replace(plain, procedure=Procedure(reload=True, dtype="mixed_float16")))
    yield "equivalence", CaseFile(replace(plain, counterpart=Counterpart(procedure=Procedure(batch_size=1))))
    call = ApiCall("torch.add", (ArrayArg("a"), ArrayArg("b")), {"alpha": 2, "nested": [1, ArrayArg("a")]})
    operands = {"a": np.arange(3, dtype=ml_dtypes.bfloat16), "b": np.array([1 + 2j, 0, -1j], np.complex64)}
    procedure = Procedure(Goal.CALL)
    faults = {"torch:eager": "sqrt-truncated-newton"}
    yield "call", CaseFile(Case(call, procedure, inputs=operands), ("torch:eager",), faults=faults)
    strings = {"x": np.array([["a", "b c"], ["", "\u00fc"]], object)}
    yield "strings", CaseFile(Case(ApiCall("keras.layers.Hashing", (ArrayArg("x"),)), procedure, inputs=strings))
    for name, kind in (("keras-file", "keras"), ("onnx-file", "onnx"), ("torch-file", "torch")):
        yield name, CaseFile(Case(ModelFile(f"model.{kind}", _SHA256, kind), inputs={"x": x}), ("onnxruntime",))
    parts = ModelFile("model.onnx", _SHA256, "onnx", (("model.data", _SHA256[::-1]),))
    yield "onnx-with-data", CaseFile(Case(parts, Procedure(trace=True), inputs={"x": x}))


def suspicions() -> Iterator[Suspicion]:
    """What a key, a signature and the id of a finding are made of."""
    case = next(file.case for name, file in cases() if name == "graph")
    half = replace(case, procedure=Procedure(dtype="mixed_float16"))
    wrong = Diagnosis(
        Class.DEFECT, ("keras:jax",), "first#0", "keras.layers.Dense", {"units": 2, "activation": "relu"}, ("it is",)
    )
    yield Suspicion(Kind.INCONSISTENCY, wrong, case, ("keras:jax", "keras:torch"))
    yield Suspicion(Kind.NAN, wrong, half, ("keras:jax", "keras:torch"), stage=Stage.BACKWARD)
    yield Suspicion(Kind.INCONSISTENCY, wrong, case, ("keras:jax",), features=("zeros", "ties"), stage=Stage.LOSS)
    raised = replace(wrong, suspects=("keras:jax", "keras:torch"), api=None, parameters={})
    yield Suspicion(Kind.ERROR, raised, case, ("keras:jax", "keras:torch"), "ValueError", Stage.BUILD)
    call = next(file.case for name, file in cases() if name == "call")
    own = Diagnosis(Class.DEFECT, ("torch:eager",), api="torch.add", parameters={"alpha": 2, "dtype": "bfloat16"})
    yield Suspicion(Kind.PRECISION, own, call, ("torch:eager",), stage=Stage.CALL)


def values() -> dict[str, Any]:
    """All that a later version must read, and compute, in the same way."""
    return {
        "computed": [_of_suspicion(suspicion) for suspicion in suspicions()],
        "cases": {path.stem: _of_case(path) for path in sorted((FOLDER / "cases").glob("*.tpcase"))},
        "stores": {name: _of_store(FOLDER / name) for name in ("fuzzed", "hunted")},
        "known": [_of_known(entry) for entry in read_known(FOLDER / "tensorparity.toml")],
    }


def _of_suspicion(suspicion: Suspicion) -> dict[str, Any]:
    finding = make_finding(suspicion, "muffin", {}, suspicion.diagnosis.api or suspicion.case.digest)
    return {
        "key": list(suspicion.key),
        "signature": suspicion.signature,
        "finding": finding.id,
        "document": {name: value for name, value in finding.to_json().items() if name not in _LATER[1:]},
    }


def _of_case(path: Path) -> dict[str, Any]:
    read = read_case(path)
    case = read.case
    return {
        "digest": case.digest,
        "subject": case.subject.kind,
        "goal": case.procedure.goal.value,
        "arrays": {name: [array.dtype.name, list(array.shape)] for name, array in case.arrays().items()},
        "targets": list(read.targets),
        "suspects": list(read.suspects),
        "faults": dict(read.faults),
        "versions": {target: dict(versions) for target, versions in read.versions.items()},
        "note": read.note,
    }


def _of_store(folder: Path) -> dict[str, Any]:
    """Read from a copy: opening a database may write to it."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy)
        with open_store(copy, create=False) as store:
            return _of_open_store(store)


#: What a document has that the samples have not: versions of the machine, and keys that came later.
_LATER = ("versions", "title", "severity", "reduced")


def _of_open_store(store: Store) -> dict[str, Any]:
    (campaign,) = store.campaigns()
    engines = store.engines(campaign.id)
    results = [(engine, result) for engine in engines for result in store.results(campaign.id, engine)]
    return {
        "command": campaign.command,
        "seed": campaign.seed,
        "stop_reason": campaign.stop_reason,
        "results": [
            [engine, r.index, r.digest, [verdict.judgement.value for verdict in r.verdicts]] for engine, r in results
        ],
        "findings": {finding.id: _of_finding(store, finding) for finding in store.findings()},
    }


def _of_finding(store: Store, finding: Any) -> dict[str, Any]:
    path, script, draft = store.case_path(finding), store.script_path(finding), store.draft_path(finding)
    assert path is not None
    original = path.with_suffix(".original.tpcase")
    return {
        "document": {name: value for name, value in finding.to_json().items() if name not in _LATER},
        "signature": finding.signature,
        "cluster": finding.cluster,
        "case": read_case(path).case.digest,
        "original": read_case(original).case.digest if original.exists() else None,
        "script": script.name if script and script.exists() else None,
        "draft": draft.name if draft and draft.exists() else None,
    }


def _of_known(entry: Any) -> dict[str, Any]:
    return {
        "name": entry.name,
        "reason": entry.reason,
        "link": entry.link,
        "targets": list(entry.targets),
        "expires": entry.expires.isoformat() if entry.expires else None,
    }


if __name__ == "__main__":
    if VALUES.exists():
        sys.exit(f"{VALUES.name} is there: samples are written once")
    for name, file in cases():
        write_case(FOLDER / "cases" / f"{name}.tpcase", file)
    VALUES.write_text(json.dumps(values(), indent=1, sort_keys=True) + "\n")
