"""Lookups and hashes on the numbers of the documentation's examples and of the hash functions' papers."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.layers.hashes import farm_fingerprint, sip_hash
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

VOCABULARY = (12, 36, 1138, 42)


def run(op, params, *inputs):
    refs = tuple(Ref(f"x{index}") for index in range(len(inputs)))
    return evaluate_node(Node("e", op, refs, params), [np.asarray(x) for x in inputs], {})[0].value.tolist()


def looked_up(x, **params):
    return run("IntegerLookup", {"vocabulary": VOCABULARY, **params}, x)


def test_hashes_are_those_of_keras_documentation():
    words = [word.encode() for word in "ABCDE"]
    assert [farm_fingerprint(word) % 3 for word in words] == [1, 0, 1, 1, 2]
    assert [sip_hash(word, (133, 137)) % 3 for word in words] == [1, 2, 1, 0, 2]
    assert [sip_hash(word, (133, 133)) % 3 for word in words] == [0, 0, 2, 1, 0]


def test_sip_hash_is_that_of_its_paper():
    key = (int.from_bytes(bytes(range(8)), "little"), int.from_bytes(bytes(range(8, 16)), "little"))
    assert sip_hash(bytes(range(15)), key) == 0xA129CA6149BE45E5
    assert sip_hash(b"", key) == 0x726FDB47DD0E0E31


def test_no_integer_is_too_long_for_the_fingerprint():
    assert len({farm_fingerprint(str(10**size).encode()) for size in range(32)}) == 32
    with pytest.raises(ValueError, match="at most 32 bytes"):
        farm_fingerprint(bytes(33))


def test_a_masked_number_has_bin_0_and_nobody_else_has():
    found = run("Hashing", {"num_bins": 3, "mask_value": 7}, [[7, 1, 2, 3, 4, 5]])
    assert found[0][0] == 0
    assert set(found[0][1:]) <= {1, 2}
    assert run("Hashing", {"num_bins": 1, "mask_value": 7}, [[7, 1]]) == [[0, 0]]


def test_a_crossing_knows_the_order():
    first, second = [[3], [4], [1]], [[5], [4], [2]]
    found = run("HashedCrossing", {"num_bins": 1000}, first, second)
    turned = run("HashedCrossing", {"num_bins": 1000}, second, first)
    assert found[1] == turned[1]
    assert found[0] != turned[0]
    flags = run("HashedCrossing", {"num_bins": 4, "output_mode": "one_hot"}, first, second)
    bins = run("HashedCrossing", {"num_bins": 4}, first, second)
    assert [int(np.argmax(row)) for row in flags] == [bin_ for (bin_,) in bins]


def test_the_examples_of_the_documentation():
    assert looked_up([[12, 1138, 42], [42, 1000, 36]]) == [[1, 3, 4], [4, 0, 2]]
    assert looked_up([[12, 1138, 42], [37, 1000, 36]], num_oov_indices=2) == [[2, 4, 5], [1, 0, 3]]
    rows = [[12, 1138, 42, 42], [42, 7, 36, 7]]
    assert looked_up(rows, output_mode="multi_hot") == [[0, 1, 0, 1, 1], [1, 0, 1, 0, 1]]
    assert looked_up(rows, output_mode="count") == [[0, 1, 0, 1, 2], [2, 0, 1, 0, 1]]
    assert looked_up([[1, 3, 4], [4, 0, 2]], invert=True) == [[12, 1138, 42], [42, -1, 36]]
    spread = run(
        "IntegerLookup",
        {"vocabulary": (10, 20, 30), "num_oov_indices": 4, "oov_method": "farmhash"},
        [100, 300, 700, 1100, 1700, 2000],
    )
    assert spread == [3, 3, 2, 2, 0, 1]


def test_frequencies_by_hand():
    rows = [[12, 1138, 42, 42], [42, 7, 36, 7]]
    found = looked_up(rows, output_mode="tf_idf", idf_weights=(0.25, 0.75, 0.6, 0.4))
    np.testing.assert_allclose(found, [[0, 0.25, 0, 0.6, 0.8], [1.0, 0, 0.75, 0, 0.4]])
    whole = {"vocabulary": (-1, *VOCABULARY), "idf_weights": (0.9, 0.25, 0.75, 0.6, 0.4), "output_mode": "tf_idf"}
    np.testing.assert_allclose(run("IntegerLookup", whole, rows)[1], [1.8, 0, 0.75, 0, 0.4])
    padded = run("IntegerLookup", {**whole, "max_tokens": 7, "pad_to_max_tokens": True}, rows)
    np.testing.assert_allclose(padded[1], [1.8, 0, 0.75, 0, 0.4, 0, 0])


def test_a_mask_is_index_0_or_dropped():
    assert looked_up([[7, 12, 5]], mask_token=7) == [[0, 2, 1]]
    assert looked_up([[7, 12, 5]], mask_token=7, output_mode="count") == [[1, 1, 0, 0, 0]]
    assert looked_up([[0, 1, 2]], mask_token=7, invert=True) == [[7, -1, 12]]


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"vocabulary": (1, 2, 1)}, "vocabulary"),
        ({"vocabulary": ("a", "b")}, "vocabulary"),
        ({"mask_token": 12}, "vocabulary"),
        ({"oov_token": 42, "invert": True}, "vocabulary"),
        ({"max_tokens": 4}, "max_tokens"),
        ({"pad_to_max_tokens": True}, "pad_to_max_tokens"),
        ({"output_mode": "tf_idf"}, "idf_weights"),
        ({"idf_weights": (1.0, 1.0, 1.0, 1.0)}, "idf_weights"),
        ({"output_mode": "tf_idf", "idf_weights": (1.0,)}, "idf_weights"),
        ({"salt": 3}, "salt"),
        ({"invert": True, "output_mode": "count"}, "invert"),
    ],
)
def test_what_does_not_go_together(params, name):
    spec = layer("IntegerLookup")
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        spec.shape(spec.complete({"vocabulary": VOCABULARY, **params}), [(2, 4)])
