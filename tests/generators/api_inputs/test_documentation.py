"""What is mined from documentation, in the four categories: structure, type, shape, valid value."""

from __future__ import annotations

from tensorparity.generators.api_inputs.documentation import facts_of, shapes_in

_TENSORFLOW = """
Computes a thing.

Args:
  input: A `Tensor`. Must be one of the following types: `half`, `float32`, `int32`.
    A 4-D tensor of shape `[batch, height, width, channels]`.
  filter: A `Tensor`. Must have the same type as `input`.
    A 4-D tensor of shape `[filter_height, filter_width, channels, out]`
  padding: A `string` from: `"SAME", "VALID"`. The type of padding.
  strides: A list of `ints`.
  name: A name.
"""


def test_types_that_are_listed() -> None:
    facts = facts_of(_TENSORFLOW, ["input", "filter"])
    assert facts["input"].dtypes == ("float16", "float32", "int32")
    assert facts["filter"].same_type == ("input",)


def test_shapes_share_their_symbols() -> None:
    facts = facts_of(_TENSORFLOW, ["input", "filter"])
    assert facts["input"].shapes == (("batch", "height", "width", "channels"),)
    assert facts["filter"].shapes[0][2] == "channels"
    assert 4 in facts["input"].ranks


def test_structure_and_mode_strings() -> None:
    facts = facts_of(_TENSORFLOW, ["padding", "strides", "input"])
    assert facts["padding"].choices == ("SAME", "VALID")
    assert facts["strides"].structure == "list"
    assert facts["input"].structure == "tensor"


def test_a_description_ends_where_the_next_begins() -> None:
    facts = facts_of(
        "Args:\n    x (Tensor): first.\n    k (int): how many, positive.\n\nReturns:\n    a bool\n", ["x", "k"]
    )
    assert "many" not in facts["x"].text
    assert facts["k"].structure == "number"
    assert facts["k"].domain == "positive"


def test_mathematics_is_read_as_shape() -> None:
    assert shapes_in(r"Input: shape :math:`(N, C_{in}, L)`") == (("n", "c_in", "l"),)
    assert shapes_in("see the shape (optional)") == ()
    assert shapes_in("a tensor of shape `[..., M, M]`") == (("...", "m", "m"),)
