"""Models of keras.applications by their names."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tensorparity.worker.adapters.keras3.applications import find
from tensorparity.worker.contract import Unsupported


def test_a_near_miss_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    models = SimpleNamespace(MobileNetV2=print, ResNet50=print)
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(applications=models))
    assert find("mobilenetv2") is print
    with pytest.raises(Unsupported, match=r"no MobilNetV2 \(did you mean MobileNetV2\?\)"):
        find("MobilNetV2")
    with pytest.raises(Unsupported, match="there are MobileNetV2, ResNet50"):
        find("GPT")
