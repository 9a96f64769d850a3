"""What somebody may have meant."""

from __future__ import annotations

import pytest

from tensorparity.core.near_misses import meant, several_meant

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


def test_several_names_are_told_and_a_last_part_is_enough() -> None:
    known = ["torch.hypot", "torch.Tensor.hypot_", "jax.numpy.sin"]
    assert several_meant("hypot", known) == " (did you mean torch.hypot or torch.Tensor.hypot_?)"
    assert several_meant("torch.hypott", known).startswith(" (did you mean torch.hypot")
    assert several_meant("torch.hypott", known, most=1) == " (did you mean torch.hypot?)"
    assert several_meant("nothing.like-these", known) == ""
