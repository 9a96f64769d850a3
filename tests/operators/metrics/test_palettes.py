"""Ties, constants, large numbers and other sizes: what is drawn of them, and what the references say."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import ApiCall
from tensorparity.operators.functions.declared_calls import evaluate_declared
from tensorparity.operators.metrics.catalogue import METRICS, draw_params, metric_case
from tensorparity.operators.metrics.palettes import draw_style, styles_of

USES = [(name, style) for name, spec in METRICS.items() for style in styles_of(spec, {})]


@pytest.mark.parametrize(("name", "style"), USES)
def test_a_reference_says_something_in_every_style(name: str, style: str):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        params = draw_params(METRICS[name], rng)
        if style not in styles_of(METRICS[name], params):
            continue
        case = metric_case(METRICS[name], params, rng, weighted=bool(seed % 2), style=style)
        assert isinstance(case.subject, ApiCall)
        found = evaluate_declared(case.subject, dict(case.inputs))
        assert np.isfinite(found.value).all()
        assert np.isfinite(found.kappa).all()


def test_styles_are_what_they_say():
    rng = np.random.default_rng(0)

    def values(style: str) -> np.ndarray:
        return metric_case(METRICS["MeanSquaredError"], {}, rng, weighted=False, style=style).inputs["y_pred"]

    assert values("normal").shape == (8, 4)
    assert values("one").shape == (1, 4)
    assert len(values("many")) > 16
    assert set(values("zeros").ravel()) == {0.0}
    assert set(values("ones").ravel()) == {1.0}
    assert len(set(values("ties").ravel())) < 6
    assert np.abs(values("large")).max() > 1e3
    chances = metric_case(METRICS["AUC"], {}, rng, weighted=False, style="large").inputs["y_pred"]
    assert set(chances.ravel()) == {0.0, 1.0}


def test_who_ranks_is_not_asked_about_ties():
    for name in ("CategoricalAccuracy", "TopKCategoricalAccuracy", "OneHotMeanIoU"):
        assert "ties" not in styles_of(METRICS[name], {})
    assert "ties" in styles_of(METRICS["Precision"], {})
    assert "ties" not in styles_of(METRICS["Precision"], {"top_k": 2})


def test_half_of_the_cases_are_normal():
    rng = np.random.default_rng(0)
    drawn = [draw_style(METRICS["Mean"], {}, rng) for _ in range(200)]
    assert 60 < drawn.count("normal") < 140
    assert set(drawn) == {"normal", *styles_of(METRICS["Mean"], {})}


def test_best_rates_look_at_thresholds_from_0_to_1():
    """At a threshold of 0 a chance of 0 is still negative, so the precision of taking everything is none of them."""
    case = metric_case(METRICS["PrecisionAtRecall"], {"recall": 0.5}, np.random.default_rng(0), weighted=False)
    labels, chances = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 1.0])
    assert isinstance(case.subject, ApiCall)
    found = evaluate_declared(case.subject, {"y_true": labels, "y_pred": chances})
    assert found.value == pytest.approx(1 / 3)  # one hit of three above 0; all four would be a half
