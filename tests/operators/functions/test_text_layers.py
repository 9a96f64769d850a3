"""Layers that read strings: the documentation's examples, what is declared, and what is drawn."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.errors import UsageError
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.generators.single_cases.text_layers import draw_arguments, text_case
from tensorparity.operators import undeclared
from tensorparity.operators.functions.api import api_known, evaluate_call
from tensorparity.operators.functions.text_layers import TEXT_LAYERS
from tensorparity.operators.reference.rounding import error_units
from tensorparity.operators.spec import Evaluation
from tensorparity.triage.reproduce import literals
from tensorparity.triage.reproduce.keras_scripts import keras_parts

VOCABULARY = ["a", "b", "c", "d"]
DATA = [["a", "c", "d"], ["d", "z", "b"]]


def evaluated(name: str, x: object, **params: object) -> Evaluation:
    array = np.array(x) if params.get("invert") else np.array(x, dtype=object)
    return evaluate_call(ApiCall(f"keras.layers.{name}", (ArrayArg("x"),), params), {"x": array})


def lookup(x: object = DATA, **params: object) -> list:
    return evaluated("StringLookup", x, **{"vocabulary": VOCABULARY, **params}).value.tolist()


def vectorize(*texts: object, **params: object) -> list:
    return evaluated("TextVectorization", texts, **{"vocabulary": ["foo", "bar", "a b"], **params}).value.tolist()


def test_the_examples_of_the_documentation():
    assert lookup() == [[1, 3, 4], [4, 0, 2]]
    assert lookup([["a", "c", "d"], ["m", "z", "b"]], num_oov_indices=2) == [[2, 4, 5], [0, 1, 3]]
    assert lookup(["a", "z"], output_mode="one_hot") == [[0, 1, 0, 0, 0], [1, 0, 0, 0, 0]]
    rows = [["a", "c", "d", "d"], ["d", "z", "b", "z"]]
    assert lookup(rows, output_mode="multi_hot") == [[0, 1, 0, 1, 1], [1, 0, 1, 0, 1]]
    assert lookup(rows, output_mode="count") == [[0, 1, 0, 1, 2], [2, 0, 1, 0, 1]]
    weighted = {"output_mode": "tf_idf", "idf_weights": [0.25, 0.75, 0.6, 0.4]}
    np.testing.assert_allclose(lookup(rows, **weighted), [[0, 0.25, 0, 0.6, 0.8], [1.0, 0, 0.75, 0, 0.4]])
    named = {"vocabulary": ["[UNK]", *VOCABULARY], "output_mode": "tf_idf", "idf_weights": [0.9, 0.25, 0.75, 0.6, 0.4]}
    np.testing.assert_allclose(lookup(rows, **named), [[0, 0.25, 0, 0.6, 0.8], [1.8, 0, 0.75, 0, 0.4]])
    assert lookup([[1, 3, 4], [4, 0, 2]], invert=True) == [["a", "c", "d"], ["d", "[UNK]", "b"]]


def test_a_mask_has_the_first_place_or_none():
    assert lookup(["", "a", "z"], mask_token="") == [0, 2, 1]
    assert lookup([["", "a", "z"]], mask_token="", output_mode="count") == [[1, 1, 0, 0, 0]]
    assert lookup([0, 1, 2], mask_token="", oov_token="?", invert=True) == ["", "?", "a"]


def test_counts_may_be_padded():
    found = lookup([["a", "z"]], output_mode="count", max_tokens=7, pad_to_max_tokens=True)
    assert found == [[1, 1, 0, 0, 0, 0, 0]]


def test_text_is_standardized_and_split():
    assert vectorize("Foo  bar!", "") == [[2, 3], [0, 0]]
    assert vectorize("Foo bar!", standardize=None) == [[1, 1]]
    assert vectorize("Foo bar!", standardize="lower") == [[2, 1]]
    assert vectorize("Foo bar!", standardize="strip_punctuation") == [[1, 3]]
    assert vectorize("É", vocabulary=["é"]) == [[2]]
    assert vectorize("baé", vocabulary=["é", "a"], split="character") == [[1, 3, 2]]
    assert vectorize("a b", "foo", "", split=None) == [4, 2, 0]
    assert vectorize(["a b", "foo"], ["x", "bar"], split=None) == [[4, 2], [1, 3]]
    assert vectorize(["foo"], ["bar foo"]) == [[2, 0], [3, 2]]


def test_tokens_are_recombined():
    assert vectorize("a b foo", ngrams=2) == [[1, 1, 2, 4, 1]]
    assert vectorize("a b foo", ngrams=(2,)) == [[4, 1]]
    assert vectorize("a b foo", ngrams=(1, 3)) == [[1, 1, 2, 1]]
    assert vectorize("a", ngrams=(2,)) == [[]]


def test_places_are_cut_or_padded_and_counts_are_of_each_text():
    assert vectorize("foo bar foo", "", output_sequence_length=2) == [[2, 3], [0, 0]]
    assert vectorize("foo", output_sequence_length=3) == [[2, 0, 0]]
    assert vectorize("foo x foo", "", output_mode="count") == [[1, 2, 0, 0], [0, 0, 0, 0]]
    assert vectorize("foo", "x", split=None, output_mode="multi_hot") == [[0, 1, 0, 0], [1, 0, 0, 0]]
    padded = vectorize("foo", output_mode="multi_hot", max_tokens=6, pad_to_max_tokens=True)
    assert padded == [[0, 1, 0, 0, 0, 0]]
    np.testing.assert_allclose(
        vectorize("foo x", output_mode="tf_idf", idf_weights=[0.5, 0.25, 0.75]), [[0.5, 0.5, 0, 0]]
    )


@pytest.mark.parametrize(
    ("name", "params", "x"),
    [
        ("StringLookup", {"num_oov_indices": 0}, ["z"]),
        ("StringLookup", {"invert": True, "output_mode": "count"}, [1]),
        ("StringLookup", {"vocabulary": ["a", 1]}, ["a"]),
        ("StringLookup", {"num_oov_indices": 2}, ["x" * 33]),
        ("TextVectorization", {"output_mode": "count", "output_sequence_length": 2}, ["a"]),
        ("TextVectorization", {"split": "sentence"}, ["a"]),
        ("TextVectorization", {"standardize": "upper"}, ["a"]),
        ("TextVectorization", {"ngrams": "two"}, ["a"]),
        ("TextVectorization", {}, [["a", "b"]]),
        ("TextVectorization", {"split": None, "ngrams": 2}, ["a"]),
    ],
)
def test_what_is_not_said_is_refused(name, params, x):
    with pytest.raises(UsageError):
        evaluated(name, x, **{"vocabulary": VOCABULARY, **params})


def test_places_are_no_strings_and_strings_no_places():
    call = ApiCall("keras.layers.StringLookup", (ArrayArg("x"),), {"vocabulary": VOCABULARY})
    with pytest.raises(UsageError, match="invert"):
        evaluate_call(call, {"x": np.array([1, 2])})


def test_strings_are_right_or_wrong():
    truth = evaluated("StringLookup", [1, 0], vocabulary=VOCABULARY, invert=True)
    right, wrong = np.array(["a", "[UNK]"], object), np.array(["a", "?"], object)
    assert error_units(right, truth, "string").tolist() == [0.0, 0.0]
    assert error_units(wrong, truth, "string")[1] > 1e9


def _constructor(name: str, file: str) -> set[str]:
    """The arguments of the installed Keras, as its source has them: nothing is imported."""
    found = importlib.util.find_spec("keras")
    if found is None or not found.submodule_search_locations:
        pytest.skip("not installed: keras")
    path = Path(found.submodule_search_locations[0]) / "src/layers/preprocessing" / file
    classes = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    (made,) = (
        item
        for node in classes
        if node.name == name
        for item in node.body
        if isinstance(item, ast.FunctionDef) and item.name == "__init__"
    )
    return {argument.arg for argument in made.args.args} - {"self"}


@pytest.mark.parametrize(
    ("name", "file"), [("StringLookup", "string_lookup.py"), ("TextVectorization", "text_vectorization.py")]
)
def test_every_argument_is_declared_or_left_out_for_a_reason(name, file):
    declared = {parameter.name for parameter in TEXT_LAYERS[name].parameters}
    given = _constructor(name, file)
    assert declared <= given
    silent = {item for item in given - declared if not undeclared.reason(undeclared.TEXT_LAYERS, name, item)}
    assert not silent
    assert set(undeclared.TEXT_LAYERS[name]) <= given - declared


@pytest.mark.parametrize("name", list(TEXT_LAYERS))
def test_every_draw_has_a_reference_and_every_value_is_drawn(name):
    spec = TEXT_LAYERS[name]
    assert api_known(spec.api)
    seen: dict[str, set[str]] = {}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        params = draw_arguments(spec, rng)
        assert not spec.invalid(params)
        case = text_case(spec, params, rng)
        found = evaluate_call(case.subject, dict(case.inputs))
        assert found.kappa.shape == found.value.shape
        for key, value in params.items():
            seen.setdefault(key, set()).add(repr(value))
    for parameter in spec.parameters:
        assert {repr(value) for value in parameter.valid if value is not None} <= seen[parameter.name]


def test_a_script_makes_the_layer_and_calls_it():
    params = {"vocabulary": ("a", "é"), "ngrams": (1, 2)}
    call = ApiCall("keras.layers.TextVectorization", (ArrayArg("x"),), params)
    case = Case(call, Procedure(goal=Goal.CALL), inputs={"x": np.array(["a 'é'", 'b "'], object)})
    text = "\n".join(keras_parts(case, "jax", None, watched=False).steps)
    assert 'layer = keras.layers.TextVectorization(vocabulary=["a", "é"], ngrams=(1, 2))' in text
    given: dict[str, object] = {"np": np}
    exec(text.splitlines()[0], given)  # noqa: S102
    assert given["x"].tolist() == case.inputs["x"].tolist()
    with pytest.raises(literals.Unprintable, match="strings"):
        literals.array(np.array(["a"] * 1000, object))
