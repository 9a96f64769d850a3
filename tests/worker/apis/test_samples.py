"""An empty module in the place of one that is not installed, for as long as it is wanted."""

from __future__ import annotations

import importlib
import json
import sys

from tensorparity.worker.apis.samples import standing_in


def test_a_package_that_is_not_installed_is_stood_in_for_and_gone_afterwards() -> None:
    name = "no_such_package_of_anybody"
    with standing_in(name):
        assert importlib.import_module(name).__name__ == name
    assert name not in sys.modules


def test_one_that_is_installed_stays_as_it_is() -> None:
    with standing_in("json"):
        assert importlib.import_module("json") is json
    assert sys.modules["json"] is json
