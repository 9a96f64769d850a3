"""Inputs as constants of what torch traces, all rows in one trace; and what inductor cannot do without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.worker.adapters.call_runs import CallRuns
from tensorparity.worker.contract import Job, Unsupported

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")]


@pytest.mark.parametrize("api", ["torch.exp", "torch.frexp"])
def test_every_row_of_a_trace_without_inputs_is_as_it_is_run_plainly(api: str) -> None:
    from tensorparity.worker.adapters.pytorch.call_ways import TorchWays

    rows = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2)

    def run(**how: Any) -> dict[str, np.ndarray]:
        subject = {"kind": "api-call", "api": api, "args": [{"$array": "x"}], "kwargs": {}}
        case = {"subject": subject, "procedure": {"goal": "call", "rows": 3, **how}}
        found: dict[str, np.ndarray] = CallRuns(TorchWays()).run(Job(case, {"inputs:x": rows})).outputs
        return found

    plain, traced = run(), run(variant="jit.trace captured")
    assert set(traced) == set(plain)
    assert all((traced[name] == plain[name]).all() for name in plain)
    assert {name.partition("/")[0] for name in traced} == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("compiler", "folder", "said"), [("no-such-c++", None, "C\\+\\+ compiler"), ("sh", "x", "headers")]
)
def test_without_a_compiler_or_headers_there_is_no_inductor(
    monkeypatch: pytest.MonkeyPatch, compiler: str, folder: str | None, said: str
) -> None:
    from tensorparity.worker.adapters.pytorch import call_ways

    monkeypatch.setenv("CXX", compiler)
    if folder:
        monkeypatch.setattr(call_ways.sysconfig, "get_paths", lambda: {"include": folder})
    with pytest.raises(Unsupported, match=said):
        call_ways.require_compiler()
