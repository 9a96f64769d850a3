"""Charts as they are drawn: what stands where."""

from __future__ import annotations

import itertools
import re

from tensorparity.reporting.charts import lines


def test_names_of_a_legend_do_not_touch() -> None:
    names = [f"operator{index} float32 tensorflow:eager" for index in range(5)]
    drawing = str(lines({name: [1.0, 2.0] for name in names}, "error"))
    places: dict[float, list[float]] = {
        float(y): [] for y in re.findall(r'<rect x="[\d.]+" y="([\d.]+)" width="10"', drawing)
    }
    for x, y in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="10"', drawing):
        places[float(y)].append(float(x))
    gaps = [b - a for row in places.values() for a, b in itertools.pairwise(sorted(row))]
    assert sum(map(len, places.values())) == len(names)
    assert all(gap > 6 * len(names[0]) for gap in gaps)
