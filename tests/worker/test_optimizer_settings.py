"""Optimizers that are trained inside of a call: no setting is what it is by default, so that a lost one shows."""

from __future__ import annotations

import inspect

import pytest

from tensorparity.generators.equivalences.optimizer_states import OPTIMIZERS
from tensorparity.worker.adapters.pytorch import optimizers

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def of(recipe: str, module: object = None) -> object:
    return optimizers._optimizer(module or torch.nn.Linear(3, 4), recipe)[0]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_settings_are_none_by_default(name: str) -> None:
    given = of(name).param_groups[0]  # type: ignore[attr-defined]
    known = inspect.signature(getattr(torch.optim, name)).parameters
    same = {
        key
        for key, parameter in known.items()
        if (isinstance(parameter.default, float) or parameter.annotation is float)
        and given.get(key) == parameter.default
    }
    assert not same


def test_what_is_said_besides_is_set_beside_ours_and_alone_where_settings_are_said() -> None:
    ours, more = of("Adagrad").param_groups[0], of(optimizers._with_setting("Adagrad", "foreach")).param_groups[0]  # type: ignore[attr-defined]
    assert more["foreach"] is True
    assert more["lr_decay"] == ours["lr_decay"] != 0
    assert of('Adagrad{"eps":0.5}').param_groups[0]["lr_decay"] == 0  # type: ignore[attr-defined]


def test_a_setting_that_a_state_loses_shows_in_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    right = torch.optim.Adagrad.state_dict

    def forgetful(self: object) -> object:
        found = right(self)
        for group in found["param_groups"]:
            group["lr_decay"] = 0
        return found

    def weights() -> object:
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(3, 4))
        lived, _ = optimizers._lived(module, torch.ones(2, 3), "Adagrad", "state_dict")
        return lived[0].weight.detach()

    expected = weights()
    assert torch.equal(expected, weights())  # type: ignore[arg-type]
    monkeypatch.setattr(torch.optim.Adagrad, "state_dict", forgetful)
    assert not torch.allclose(expected, weights())  # type: ignore[arg-type]
