"""What somebody may have meant."""

from __future__ import annotations

import pytest

from tensorparity.core.near_misses import meant

KNOWN = ("keras:torch", "keras-jit-compile", "lenet1", "lenet5", "Adam")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("keras:trch", " (did you mean keras:torch?)"),
        ("adamm", " (did you mean Adam?)"),
        ("compild", " (did you mean keras-jit-compile?)"),
        ("xyz", ""),
        ("", ""),
    ],
    ids=["letters", "case", "a word of it", "nothing near", "nothing at all"],
)
def test_near_misses(name: str, said: str) -> None:
    assert meant(name, KNOWN) == said
