"""Adafactor, ScheduleFreeAdamW, Muon, loss scaling, schedules and the options of all optimizers, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tensorparity.core.errors import UsageError
from tensorparity.core.procedure import Recipe
from tensorparity.operators.known_classes import OPTIMIZERS as PUBLIC
from tensorparity.operators.left_out import OPTIMIZERS_LEFT_OUT
from tensorparity.operators.optimizers.catalogue import OPTIMIZERS, evaluate_step, surroundings
from tensorparity.operators.optimizers.loss_scale import inner
from tensorparity.operators.optimizers.multi_optimizer import optimizer_map, optimizer_of_weight
from tensorparity.operators.optimizers.options import OPTIONS, Surroundings, shows_after
from tensorparity.operators.optimizers.schedules import SCHEDULED_RATES, SCHEDULES, rate_at, schedule_config
from tensorparity.operators.spec import ShapeError


def steps(name: str, start: object, gradients: Sequence[object], **params: object) -> list[list[float]]:
    weight, state, found = np.array(start), None, []
    for number, gradient in enumerate(gradients, 1):
        after = evaluate_step(Recipe(name, params), weight, np.array(gradient), state, number)
        weight, state = after.weight.value, after.state
        found.append(weight.tolist())
    return found


def test_every_public_optimizer_is_declared_or_left_out_for_a_reason() -> None:
    assert set(OPTIMIZERS) | set(OPTIMIZERS_LEFT_OUT) == set(PUBLIC)


def test_adafactor_of_a_vector() -> None:
    found = steps("Adafactor", [3.0, 4.0], [[2.0, -2.0]], learning_rate=0.1)
    size = 0.1 * math.sqrt(12.5)  # the update is the sign of the gradient: v is its square
    assert found[0] == pytest.approx([3.0 - size, 4.0 + size])


def test_adafactor_of_a_matrix_takes_rows_and_columns_apart() -> None:
    found = steps("Adafactor", [[1.0, 1.0], [1.0, 1.0]], [[[1.0, 3.0], [2.0, 1.0]]], learning_rate=0.1)
    rows, columns = (5.0, 2.5), (2.5, 5.0)
    v = [[r / 3.75 * c for c in columns] for r in rows]
    update = [[1.0 / math.sqrt(v[0][0]), 3.0 / math.sqrt(v[0][1])], [2.0 / math.sqrt(v[1][0]), 1 / math.sqrt(v[1][1])]]
    rms = math.sqrt(sum(u * u for row in update for u in row) / 4)
    expected = [[1.0 - 0.1 * u / max(1.0, rms) for u in row] for row in update]
    assert np.array(found[0]) == pytest.approx(np.array(expected))


def test_adafactor_forgets_more_slowly_with_time() -> None:
    found = steps("Adafactor", [0.0], [[1.0], [3.0]], learning_rate=0.1, beta_2_decay=-1.0, clip_threshold=100.0)
    assert found[0] == pytest.approx([-1e-3 * 0.1])
    assert found[1] == pytest.approx([-1e-4 - 1e-4 * 3.0 / math.sqrt(0.5 * 1.0 + 0.5 * 9.0)])


def test_adafactor_without_relative_steps_keeps_its_rate() -> None:
    kept = steps("Adafactor", [1.0], [[1.0], [1.0]], learning_rate=1.0, relative_step=False, epsilon_2=10.0)
    assert kept[1] == pytest.approx([1.0 - 10.0 - 10.0])
    relative = steps("Adafactor", [1.0], [[1.0], [1.0]], learning_rate=1.0, epsilon_2=10.0)
    assert relative[1] == pytest.approx([1.0 - 10.0 - 10.0 / math.sqrt(2)])


def test_schedule_free() -> None:
    found = steps("ScheduleFreeAdamW", [1.0], [[1.0], [1.0], [1.0]], learning_rate=0.1, epsilon=0.0, beta_1=0.9)
    assert [row[0] for row in found] == pytest.approx([0.9, 0.845, 0.79])
    warm = steps("ScheduleFreeAdamW", [1.0], [[1.0], [1.0]], learning_rate=0.1, epsilon=0.0, warmup_steps=2)
    assert [row[0] for row in warm] == pytest.approx([0.95, 0.1 * 0.85 + 0.9 * 0.9])


def test_muon_of_a_multiple_of_a_rotation_stays_one() -> None:
    """All singular values are equal, so one polynomial of one number tells everything."""
    s = 1.0 / math.sqrt(2.0)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    params = {"learning_rate": 0.1, "weight_decay": None}
    found = steps("Muon", [[1.0, 0.0], [0.0, 1.0]], [[[0.0, -7.0], [7.0, 0.0]]], **params)
    change = 0.1 * s * math.sqrt(2.0) * 0.2
    assert np.array(found[0]) == pytest.approx(np.array([[1.0, change], [-change, 1.0]]), abs=1e-7)
    plain = steps("Muon", [[1.0, 0.0], [0.0, 1.0]], [[[0.0, -7.0], [7.0, 0.0]]], rms_rate=None, **params)
    assert plain[0][0][1] == pytest.approx(0.1 * s, rel=1e-6)


def test_muon_steps_as_adamw_where_it_has_to() -> None:
    params = {"learning_rate": 0.1, "adam_weight_decay": 0.5, "epsilon": 0.0, "adam_lr_ratio": 0.5}
    assert steps("Muon", [2.0], [[3.0]], **params)[0] == pytest.approx([2.0 - 0.1 * 0.5 * 2.0 - 0.05])
    recipe, weight = Recipe("Muon", params), np.ones((2, 2))
    named = evaluate_step(recipe, weight, weight, around=Surroundings(path="Embedding_1/embeddings"))
    assert named.weight.value == pytest.approx(np.full((2, 2), 1.0 - 0.05 - 0.05))
    other = evaluate_step(recipe, weight, weight, around=Surroundings(path="dense/kernel"))
    assert other.weight.value != pytest.approx(named.weight.value)
    left_out = Recipe("Muon", {**params, "exclude_layers": ["^out", "dense/"]})
    excluded = evaluate_step(left_out, weight, weight, around=Surroundings(path="dense/kernel"))
    assert excluded.weight.value == pytest.approx(named.weight.value)


def test_muon_momentum_looks_ahead() -> None:
    turn = [[0.0, -1.0], [1.0, 0.0]]
    straight = [[1.0, 0.0], [0.0, 1.0]]
    params = {"learning_rate": 0.1, "weight_decay": None, "momentum": 0.5, "nesterov": False}
    weight = np.zeros((2, 2))
    first = evaluate_step(Recipe("Muon", params), weight, np.array(turn))
    second = evaluate_step(Recipe("Muon", params), weight, np.array(straight), first.state, 2)
    assert second.state["momentum"] == pytest.approx(np.array([[1.0, -0.5], [0.5, 1.0]]))
    assert second.weight.value[0, 0] == pytest.approx(2.0 * second.weight.value[1, 0])


def test_loss_scale_divides_doubles_and_skips() -> None:
    params = {"inner_optimizer": inner("SGD", learning_rate=1.0), "initial_scale": 8.0, "dynamic_growth_steps": 1}
    found = steps("LossScaleOptimizer", [1.0], [[8.0], [8.0], [math.inf], [8.0]], **params)
    assert [row[0] for row in found] == pytest.approx([0.0, -0.5, -0.5, -1.0 + 0.0])
    whole = surroundings({"a": np.array([8.0])}, "a")
    assert evaluate_step(Recipe("LossScaleOptimizer", params), np.ones(1), np.full(1, 8.0), around=whole).weight.value[
        0
    ] == pytest.approx(-7.0)
    broken = surroundings({"a": np.array([8.0]), "b": np.array([math.nan])}, "a")
    after = evaluate_step(Recipe("LossScaleOptimizer", params), np.ones(1), np.full(1, 8.0), around=broken)
    assert after.weight.value[0] == 1.0


def test_each_weight_has_the_optimizer_of_its_name() -> None:
    table = optimizer_map(
        inner("SGD", learning_rate=1.0), bias=inner("SGD", learning_rate=10.0), kernel=inner("Adam", learning_rate=0.5)
    )
    params = {"optimizer_map": table}

    def step(path: str, **more: object) -> float:
        around = Surroundings(path=path)
        after = evaluate_step(Recipe("MultiOptimizer", {**params, **more}), np.ones(1), np.full(1, 2.0), around=around)
        return float(after.weight.value[0])

    assert step("dense/gamma") == pytest.approx(1.0 - 2.0)
    assert step("dense/bias") == pytest.approx(1.0 - 20.0)
    assert step("dense/kernel") == pytest.approx(0.5, rel=1e-5)
    assert step("dense/bias/more") == pytest.approx(1.0 - 2.0)  # the whole path has to match
    assert step("dense/bias", loss_scale_factor=2.0) == pytest.approx(1.0 - 10.0)


def test_an_entry_of_a_weights_own_name_comes_before_patterns() -> None:
    table = optimizer_map(inner("SGD", learning_rate=1.0), bias=inner("SGD", learning_rate=10.0))
    own = inner("SGD", learning_rate=0.5)
    table["config"]["optimizer_map"]["dense/bias"] = own
    assert optimizer_of_weight(table, "dense/bias") is own
    assert optimizer_of_weight(table, "other/bias")["config"] == {"learning_rate": 10.0}


def test_two_patterns_that_match_are_refused() -> None:
    table = optimizer_map(inner("SGD"), bias=inner("SGD"), ias=inner("Adam"))
    with pytest.raises(ShapeError, match="one optimizer for 'dense/bias'"):
        optimizer_of_weight(table, "dense/bias")


def test_optimizers_of_a_table_keep_their_own_slots() -> None:
    table = optimizer_map(inner("SGD", learning_rate=1.0, momentum=0.5))
    assert steps("MultiOptimizer", [0.0], [[1.0], [1.0]], optimizer_map=table) == [[-1.0], [-2.5]]


def test_clipping() -> None:
    assert steps("SGD", [0.0, 0.0], [[3.0, -4.0]], learning_rate=1.0, clipnorm=1.0)[0] == pytest.approx([-0.6, 0.8])
    assert steps("SGD", [0.0, 0.0], [[0.3, -0.4]], learning_rate=1.0, clipnorm=1.0)[0] == pytest.approx([-0.3, 0.4])
    assert steps("SGD", [0.0, 0.0], [[3.0, -0.4]], learning_rate=1.0, clipvalue=0.5)[0] == pytest.approx([-0.5, 0.4])
    all_of_them = surroundings({"a": np.array([3.0]), "b": np.array([4.0])}, "a")
    recipe = Recipe("SGD", {"learning_rate": 1.0, "global_clipnorm": 1.0})
    assert evaluate_step(recipe, np.zeros(1), np.array([3.0]), around=all_of_them).weight.value[0] == pytest.approx(
        -0.6
    )
    assert evaluate_step(recipe, np.zeros(1), np.array([3.0])).weight.value[0] == pytest.approx(-1.0)


def test_decay_comes_before_the_step() -> None:
    assert steps("SGD", [2.0], [[1.0]], learning_rate=0.1, weight_decay=0.5)[0] == pytest.approx([2.0 - 0.1 - 0.1])
    lamb = steps("Lamb", [2.0], [[1.0]], learning_rate=0.1, weight_decay=0.5, epsilon=0.0)
    assert lamb[0] == pytest.approx([1.9 - 0.1 * 1.9])


def test_averages_are_written_back_every_so_often() -> None:
    params = {"learning_rate": 1.0, "use_ema": True, "ema_momentum": 0.5}
    assert steps("SGD", [0.0], [[1.0], [1.0]], ema_overwrite_frequency=2, **params) == [[-1.0], [-1.5]]
    assert steps("SGD", [0.0], [[1.0], [1.0]], **params) == [[-1.0], [-2.0]]


def test_accumulated_gradients_are_averaged() -> None:
    found = steps("SGD", [0.0], [[1.0], [3.0], [5.0], [7.0]], learning_rate=1.0, gradient_accumulation_steps=2)
    assert found == [[0.0], [-2.0], [-2.0], [-8.0]]
    adam = steps("Adam", [0.0], [[1.0], [3.0], [2.0], [2.0]], learning_rate=1.0, gradient_accumulation_steps=2)
    assert [row[0] for row in adam] == pytest.approx([0.0, -1.0, -1.0, -2.0], abs=1e-5)


def test_loss_scale_factor_is_undone_in_training() -> None:
    recipe = Recipe("SGD", {"learning_rate": 1.0, "loss_scale_factor": 4.0})
    assert evaluate_step(recipe, np.zeros(1), np.ones(1)).weight.value[0] == -0.25
    assert evaluate_step(recipe, np.zeros(1), np.ones(1), around=Surroundings(loss_scaled=True)).weight.value[0] == -1.0


_RATES = {
    "ExponentialDecay": ({"decay_steps": 2, "decay_rate": 0.25}, [0.1, 0.05, 0.025]),
    "PiecewiseConstantDecay": ({"boundaries": [0, 1], "values": [0.3, 0.2, 0.1]}, [0.3, 0.2, 0.1, 0.1]),
    "PolynomialDecay": ({"decay_steps": 2, "end_learning_rate": 0.02, "power": 2.0}, [0.1, 0.04, 0.02, 0.02]),
    "InverseTimeDecay": ({"decay_steps": 2, "decay_rate": 2.0}, [0.1, 0.05, 0.1 / 3]),
    "CosineDecay": ({"decay_steps": 2, "alpha": 0.2}, [0.1, 0.06, 0.02, 0.02]),
    "CosineDecayRestarts": ({"first_decay_steps": 2, "m_mul": 0.5}, [0.1, 0.05, 0.05, 0.025 * (1 + math.sqrt(0.5))]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str) -> None:
    params, expected = _RATES[name]
    initial = {} if name == "PiecewiseConstantDecay" else {"initial_learning_rate": 0.1}
    rate = schedule_config(name, **initial, **params)
    assert [rate_at(rate, number)[0] for number in range(1, len(expected) + 1)] == pytest.approx(expected)


def test_schedules_in_stairs_with_warmth_and_in_cycles() -> None:
    stairs = {"initial_learning_rate": 0.1, "decay_steps": 2, "decay_rate": 0.5, "staircase": True}
    assert [rate_at(schedule_config("ExponentialDecay", **stairs), n)[0] for n in (1, 2, 3)] == pytest.approx(
        [0.1, 0.1, 0.05]
    )
    assert rate_at(schedule_config("InverseTimeDecay", **stairs), 2)[0] == pytest.approx(0.1)
    warm = schedule_config("CosineDecay", initial_learning_rate=0.0, decay_steps=2, warmup_target=0.2, warmup_steps=2)
    assert [rate_at(warm, n)[0] for n in range(1, 6)] == pytest.approx([0.0, 0.1, 0.2, 0.1, 0.0])
    again = schedule_config(
        "PolynomialDecay", initial_learning_rate=0.1, decay_steps=2, end_learning_rate=0.0, cycle=True
    )
    assert [rate_at(again, n)[0] for n in range(1, 5)] == pytest.approx([0.1, 0.05, 0.0, 0.025])


def test_an_unknown_schedule_is_named() -> None:
    with pytest.raises(UsageError, match="unknown schedule 'Wild'"):
        rate_at(schedule_config("Wild"), 1)


def test_settings_name_declared_options_with_declared_values() -> None:
    values = {parameter.name: parameter.valid for parameter in OPTIONS}
    values["learning_rate"] = SCHEDULED_RATES
    for setting in OPTIMIZERS["SGD"].settings():
        assert all(value in values[name] for name, value in setting.items())
    assert OPTIMIZERS["LossScaleOptimizer"].settings() == ()


def test_the_step_in_which_a_setting_acts() -> None:
    assert {shows_after(setting) for setting in OPTIMIZERS["SGD"].settings()} == {1, 2}
    assert shows_after({"clipnorm": 1.0}) == 1
    summing = {"gradient_accumulation_steps": 2}
    assert shows_after(summing) == 2
    assert [weight[0] == 2.0 for weight in steps("SGD", [2.0], [[3.0]] * 2, **summing)] == [True, False]
    keeping = {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2}
    assert shows_after(keeping) == 2
    plain, averaged = (steps("SGD", [2.0], [[3.0]] * 2, **params) for params in ({}, keeping))
    assert averaged[0] == pytest.approx(plain[0])
    assert averaged[1] != pytest.approx(plain[1])
