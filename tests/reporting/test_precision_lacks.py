"""What could not be measured with some parameters stands beside what was measured with others."""

from __future__ import annotations

from tensorparity.core.operator_errors import OperatorRun, Precision
from tensorparity.reporting import html
from tensorparity.reporting.facts import Facts, TargetFacts
from tensorparity.reporting.precision import tables

_LACK = "padding=same: no such padding"


def test_lacks_are_on_the_page_and_in_the_terminal() -> None:
    run = OperatorRun("conv1d", "convolution", "jax:jit", "float32", "guided", "measured", inputs=9, lacks=(_LACK,))
    precision = Precision("operator", 16.0, operators=(run,))
    (title, _, cells) = tables(precision)[-1]
    assert title == "Not with these parameters: 1 combinations"
    assert list(cells) == [("conv1d", "float32", "jax:jit", _LACK)]
    stats = {"cases": 9, "seconds": 1.0, "undecided": 0, "per_engine": {}}
    assert _LACK in html.render(Facts("precision", 0, (TargetFacts("jax:jit"),), stats, precision=precision))
