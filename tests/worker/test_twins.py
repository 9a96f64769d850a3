"""One thing by two public names: which names are tried, and which of them mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.worker.adapters.twins import _is_called, _letters
from tensorparity.worker.contract import Unsupported


@pytest.mark.parametrize(
    ("own", "wanted"), [("max_pool2d", "MaxPool2d"), ("l1_loss", "L1Loss"), ("cross_entropy", "CrossEntropyLoss")]
)
def test_names_of_the_same_letters(own: str, wanted: str) -> None:
    assert _is_called(_letters(own), _letters(wanted))


@pytest.mark.parametrize(("own", "wanted"), [("max_pool1d", "MaxPool2d"), ("add", "AddN"), ("relu6", "ReLU")])
def test_other_names(own: str, wanted: str) -> None:
    assert not _is_called(_letters(own), _letters(wanted))


@pytest.mark.torch
class TestTorch:
    def twin(self, name: str, x: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        from tensorparity.worker.adapters.expressions import Expression
        from tensorparity.worker.adapters.pytorch.call_ways import TorchWays
        from tensorparity.worker.adapters.twins import by_twin

        ways = TorchWays()
        made = {"$call": {"api": name, "args": list(args), "kwargs": kwargs}}
        subject = {"api": "()", "args": [made, {"$array": "x"}], "kwargs": {}}
        expression = Expression(subject, ways.PREFIXES, ways.resolve, ways.dtype)
        return np.asarray(by_twin(ways, expression, {"x": ways.to_tensor(x)}, {}))

    X = np.array([[-3.0, 0.5, 200.0]], np.float32)

    def test_a_module_is_the_function_of_its_name_with_its_settings(self) -> None:
        assert self.twin("torch.nn.ELU", self.X, 2.0)[0, 0] == pytest.approx(2 * np.expm1(-3.0))
        assert self.twin("torch.nn.AvgPool1d", self.X, kernel_size=3)[0, 0] == pytest.approx(197.5 / 3)

    def test_what_differs_on_other_numbers_shows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch

        right = torch.nn.functional.softsign
        monkeypatch.setattr(torch.nn.functional, "softsign", lambda input: torch.where(input > 99, 0.0, right(input)))
        monkeypatch.setattr(torch.nn.Softsign, "forward", lambda self, input: right(input))
        assert self.twin("torch.nn.Softsign", self.X)[0].tolist() == [-0.75, pytest.approx(1 / 3), 0.0]

    def test_what_means_something_else_on_ordinary_numbers_is_no_twin(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch

        right = torch.nn.functional.softsign
        monkeypatch.setattr(torch.nn.functional, "softsign", lambda input: input)
        monkeypatch.setattr(torch.nn.Softsign, "forward", lambda self, input: right(input))
        with pytest.raises(Unsupported, match="means the same"):
            self.twin("torch.nn.Softsign", self.X)

    def test_a_module_with_weights_has_none(self) -> None:
        with pytest.raises(Unsupported):
            self.twin("torch.nn.Linear", self.X, 3, 2)
