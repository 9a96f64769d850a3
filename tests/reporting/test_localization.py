"""What the page embeds for its maps: structures once, numbers per pair."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from tensorparity.core.comparison import Comparison, LayerDeviation
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.reporting.facts import Facts
from tensorparity.reporting.html import render
from tensorparity.reporting.localization import maps, page_document

Sample = Callable[[str], Facts]


def pair(*layers: LayerDeviation, output: str = "y") -> Comparison:
    return Comparison("a", "b", output, Verdict(Judgement.PASS, ("a", "b"), "same"), 1, layers=layers)


def layer(name: str, *inputs: str, call: int = 0) -> LayerDeviation:
    return LayerDeviation(name, call, "Dense", 1.0, 2.0, True, 3.0, inputs, {"units": 4})


def test_pairs_share_the_structure_and_keep_their_numbers(sample: Sample) -> None:
    comparisons = sample("one_defect").comparisons
    assert comparisons is not None
    found = maps(comparisons)
    assert len(found.structures) == 1
    assert [numbers["structure"] for numbers in found.numbers] == [0, 0, 0]
    assert [numbers["highlighted"] for numbers in found.numbers] == [[], [4], [4]]
    assert found.numbers[1]["error"][4] == 2.4e6
    structure = found.structures[0]
    assert structure["inputs"] == ["image"]
    assert structure["layers"][4] == ["conv2d_4", 0, "Conv2D", {"padding": "same", "strides": [2, 2]}]
    assert structure["outputs"] == [8]
    assert len(structure["boxes"]) == 11
    assert [edge[:2] for edge in structure["edges"]] == [[i, i + 1] for i in range(10)]


def test_different_layers_are_different_structures() -> None:
    found = maps([pair(layer("d", "x")), pair(), pair(layer("e", "x"))])
    assert [numbers and numbers["structure"] for numbers in found.numbers] == [0, None, 1]


def test_a_pair_is_about_the_output_of_its_name() -> None:
    trunk = (layer("trunk", "x"), layer("left", "trunk#0"), layer("right", "trunk#0"))
    found = maps([pair(*trunk, output="left"), pair(*trunk, output="right"), pair(*trunk, output="else")])
    assert found.structures[0]["outputs"] == [1, 2]
    assert [numbers["output"] for numbers in found.numbers] == [0, 1, 1]


def test_an_output_that_is_also_used_has_an_end_too() -> None:
    flow = (layer("embedding", "x"), layer("embedding", "embedding#0", call=1), layer("head", "embedding#1"))
    found = maps([pair(*flow, output="embedding__1"), pair(*flow, output="head")])
    assert found.structures[0]["outputs"] == [1, 2]
    assert [numbers["output"] for numbers in found.numbers] == [0, 1]


def test_layers_without_a_flow_are_drawn_as_they_come() -> None:
    found = maps([pair(layer("a"), layer("b"))])
    assert [edge[:2] for edge in found.structures[0]["edges"]] == [[0, 2], [1, 3]]
    assert len(found.structures[0]["boxes"]) == 4


def test_what_comes_later_cannot_flow_in() -> None:
    found = maps([pair(layer("a", "b#0", "a#0"), layer("b", "a#0"))])
    assert [edge[:2] for edge in found.structures[0]["edges"]] == [[0, 1]]


def test_numbers_are_short_but_not_wrong() -> None:
    odd = replace(layer("a", "x"), deviation=1 / 3, rate=math.nan, isolated_error=None)
    numbers = maps([pair(odd)]).numbers[0]
    assert numbers["deviation"] == [0.333333]
    assert math.isnan(numbers["rate"][0])
    assert numbers["error"] == [None]


def test_the_page_tells_the_structure_once(sample: Sample) -> None:
    facts = sample("many_layers")
    document = page_document(facts.document(), facts.comparisons or ())
    assert "layers" not in document["comparisons"][0]
    assert document["comparisons"][0]["map"]["structure"] == 0
    assert len(document["structures"]) == 1
    assert page_document({"command": "hunt"}, ()) == {"command": "hunt"}


def test_further_pairs_add_numbers_only(sample: Sample) -> None:
    facts = sample("many_layers")
    assert facts.comparisons is not None
    once, twice = (len(str(maps(facts.comparisons[1:2] * count))) for count in (1, 2))
    assert twice - once < 0.3 * once
    assert render(facts).count('"structures"') == 1
