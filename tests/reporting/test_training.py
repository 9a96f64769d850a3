"""Trainings side by side: which steps are shown, where they part, and the charts."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from tensorparity.core.training import Parting, Training
from tensorparity.reporting import html, terminal
from tensorparity.reporting.facts import Facts
from tensorparity.reporting.training import by_drift, charts, headline, loss_gaps, step_rows

Sample = Callable[[str], Facts]
A, B = "keras:jax", "keras:torch"


def training(steps: int, *, parting: int | None = None, factor: float = 1.0) -> Training:
    losses = tuple(1.0 / (step + 1) for step in range(steps))
    partings = (Parting(A, B, parting, "dense/kernel", 0.5),) if parting else ()
    return Training(steps, 1e-3, {A: losses, B: tuple(factor * loss for loss in losses)}, (), partings)


class TestSteps:
    def test_few_steps_are_all_shown(self) -> None:
        assert [row.step for row in step_rows(training(5), 12)] == [1, 2, 3, 4, 5]

    @pytest.mark.parametrize(("steps", "parting"), [(13, 7), (100, 37), (10_000, 9_999), (500, 1), (500, 500)])
    def test_of_many_the_ends_and_the_parting_are_among_at_most_twelve(self, steps: int, parting: int) -> None:
        rows = step_rows(training(steps, parting=parting), 12)
        assert len(rows) <= 12
        assert {1, steps, parting} <= {row.step for row in rows}
        assert [row.step for row in rows if row.parts] == [parting]

    def test_a_loss_is_that_of_its_step(self) -> None:
        for row in step_rows(training(50), 12):
            assert row.losses == (1.0 / row.step, 1.0 / row.step)

    def test_a_target_that_stopped_early_has_no_later_losses(self) -> None:
        short = replace(training(4), losses={A: (1.0, 0.5, 0.4, 0.3), B: (1.0,)})
        assert [row.losses[1] for row in step_rows(short, 12)] == [1.0, None, None, None]
        assert loss_gaps(short) == [0.0, None, None, None]


class TestDifferences:
    def test_are_relative_to_the_larger_loss(self) -> None:
        assert loss_gaps(training(3, factor=0.75)) == pytest.approx([0.25] * 3)

    @pytest.mark.parametrize(
        ("losses", "gap"),
        [
            ((math.nan, math.nan), 0.0),
            ((math.nan, 1.0), math.inf),
            ((math.inf, -math.inf), math.inf),
            ((0.0, 0.0), 0.0),
        ],
    )
    def test_what_is_no_number_is_equal_only_to_itself(self, losses: tuple[float, float], gap: float) -> None:
        assert loss_gaps(Training(1, 1e-3, {A: losses[:1], B: losses[1:]})) == [gap]


class TestHeadline:
    def test_names_the_earliest_step_and_of_those_the_widest(self) -> None:
        partings = (
            Parting(A, B, 9, "x/kernel", 9.0),
            Parting(A, B, 4, "y/bias", 0.1),
            Parting(A, B, 4, "z/kernel", 1.0),
        )
        assert headline(replace(training(20), partings=partings)) == (
            "20 steps on the same batches; the weights diverge at step 4 in z (kernel)."
        )

    def test_says_so_where_they_stay_together(self) -> None:
        assert headline(training(1)).endswith("1 step on the same batches; the weights stay close together.")

    def test_one_training_alone_is_no_comparison(self) -> None:
        assert "fewer than two" in headline(Training(3, 1e-3, {A: (1.0, 1.0, 1.0)}))


class TestCharts:
    def test_one_curve_per_target_and_the_differences_below(self, sample: Sample) -> None:
        facts = sample("trained")
        assert facts.training is not None
        above, below = charts(facts.training)
        assert [line.name for line in above.lines] == list(facts.training.losses)
        assert [line.name for line in below.lines] == ["losses", "weights"]
        assert above.mark == below.mark
        assert above.left < (above.mark or 0) < above.right

    def test_higher_is_further_up_and_inside_the_axes(self) -> None:
        chart = charts(training(10))[0]
        points = [tuple(map(float, point.split(","))) for point in chart.lines[0].pieces[0].split()]
        heights = [y for _, y in points]
        assert heights == sorted(heights)
        assert all(chart.top <= y <= chart.bottom for y in heights)
        assert [x for x, _ in points] == sorted(x for x, _ in points)

    def test_decades_are_evenly_spaced(self) -> None:
        gaps = tuple(10.0**-exponent for exponent in range(1, 6))
        losses = {A: (1.0,) * 5, B: tuple(1 - gap for gap in gaps)}
        below = charts(Training(5, 1e-3, losses))[1]
        heights = [float(point.split(",")[1]) for point in below.lines[0].pieces[0].split()]
        steps = [second - first for first, second in zip(heights, heights[1:], strict=False)]
        assert steps == pytest.approx([steps[0]] * 4, abs=0.2)

    def test_a_curve_breaks_where_it_is_no_number(self) -> None:
        broken = Training(5, 1e-3, {A: (1.0, 1.0, math.nan, 1.0, 1.0), B: (1.0,) * 5})
        assert [len(piece.split()) for piece in charts(broken)[0].lines[0].pieces] == [2, 2]

    def test_many_steps_become_few_points(self) -> None:
        assert len(charts(training(10_000))[0].lines[0].pieces[0].split()) <= 400

    @pytest.mark.parametrize("losses", [(0.0, 0.0), (math.nan, math.nan), (-3.0, -3.0), (1e30, 1e-30), (7.0, 7.0)])
    def test_any_losses_can_be_drawn(self, losses: tuple[float, float]) -> None:
        for chart in charts(Training(2, 1e-3, {A: losses, B: losses}, (0.0, 0.0))):
            assert all(math.isfinite(tick.position) for tick in chart.up)
            assert len(chart.up) < 12


class TestPages:
    def test_the_terminal_shows_losses_and_layers(self, sample: Sample) -> None:
        stream = io.StringIO()
        terminal.render(sample("trained"), Console(file=stream, width=80))
        text = stream.getvalue()
        assert "the weights diverge at step 5 in conv2d_0" in " ".join(text.split())
        assert text.count("< diverging") == 1
        assert text.index("conv2d_0      kernel") < text.index("conv2d_2      kernel")
        table = text[text.index("pair") : text.index("against float64")]
        assert "training" not in table, "trainings have a table of their own"
        assert max(map(len, text.splitlines())) <= 80

    def test_the_page_draws_them(self, sample: Sample) -> None:
        text = html.render(sample("trained"))
        assert text.count("<polyline") == 5
        assert text.index('id="high-precision"') < text.index('id="training"')
        assert 'class="parts" title="the weights diverge here"><td>5</td>' in text

    def test_the_document_holds_them(self, sample: Sample) -> None:
        document = sample("trained").document()
        assert document["training"]["losses"][A][0] == 2.3
        assert document["training"]["partings"][0]["step"] == 5
        assert document["high_precision"]["inputs"] == [17, 402, 5]
        json.dumps(document["training"])

    def test_layers_furthest_apart_come_first(self, sample: Sample) -> None:
        facts = sample("trained")
        assert facts.training is not None
        assert [layer.layer for layer in by_drift(replace(facts.training, layers=facts.training.layers[::-1]))] == [
            "conv2d_0", "conv2d_1", "conv2d_2", "head",
        ]  # fmt: skip
