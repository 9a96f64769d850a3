"""Inputs that a library brings along are calls of the function as it is listed."""

from __future__ import annotations

import numpy as np

from tensorparity.core.outcome import Outcome, Status
from tensorparity.generators.api_inputs import ApiListing, shipped_cases


def _cases(of: str) -> list[str]:
    entry = {"name": "torch.relu", "kind": "function", "aliases": ["torch.nn.functional.relu", "torch.relu_"]}
    listing = ApiListing.from_json({"library": "torch", "excluded": {}, "apis": [{**entry, "parameters": []}]})
    call = {"api": of, "args": [{"$array": "x0"}], "kwargs": {}}
    reply = {"samples": [{"of": of, "call": call, "arrays": ["x0"]}]}
    outcome = Outcome("torch:eager", Status.COMPLETED, {"0/x0": np.ones(3, np.float32)}, reply=reply)
    return [case.subject.api for case in shipped_cases(outcome, listing)["torch.relu"]]  # type: ignore[union-attr]


def test_the_same_name_elsewhere_is_the_same_function() -> None:
    assert _cases("torch.nn.functional.relu") == ["torch.relu"]


def test_what_has_another_name_keeps_it() -> None:
    assert _cases("torch.relu_") == ["torch.relu_"]
