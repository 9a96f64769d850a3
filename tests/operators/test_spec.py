from __future__ import annotations

from tensorparity.operators.catalogue import layer


def test_significant_keeps_what_differs_and_what_is_required():
    conv = layer("Conv2D")
    params = {"filters": 2, "kernel_size": (3, 3), "strides": [1, 1], "padding": "same", "name": "c"}
    assert conv.significant(params) == {"filters": 2, "kernel_size": (3, 3), "padding": "same"}
    assert layer("Activation").significant({"activation": None}) == {"activation": None}


def test_complete_fills_in_the_defaults():
    assert layer("LeakyReLU").complete({}) == {"negative_slope": 0.3}
