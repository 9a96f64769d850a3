"""Classes around a program's inputs and outputs, replaced by plain containers."""

from __future__ import annotations

import json

import pytest

from tensorparity.generators.model_files.torch_containers import is_plain_tree, is_tree, plain_tree

LEAF = {"type": None, "context": None, "children_spec": []}


def tree(kind: str, context: object, *children: object) -> str:
    return json.dumps([1, {"type": kind, "context": json.dumps(context), "children_spec": list(children)}])


@pytest.mark.parametrize(
    ("given", "kind", "context"),
    [
        (tree("a.Answer", ["x", "y"], LEAF, LEAF), "builtins.dict", '["x", "y"]'),
        (tree("a.Answer", ["x"], LEAF, LEAF), "builtins.list", "null"),  # not a name for each
        (tree("a.Answer", ["x", "x"], LEAF, LEAF), "builtins.list", "null"),  # twice the same
        (tree("a.Answer", ["x; import os", "y"], LEAF, LEAF), "builtins.list", "null"),  # no names
        (tree("builtins.dict", {"__enum__": True}, LEAF), "builtins.list", "null"),  # keys that are imported
        (tree("builtins.tuple", None, LEAF), "builtins.tuple", "null"),
    ],
)
def test_classes_become_dictionaries_or_lists(given: str, kind: str, context: str) -> None:
    made = plain_tree(given)
    assert is_plain_tree(made)
    _, branch = json.loads(made)
    assert (branch["type"], branch["context"]) == (kind, context)
    assert branch["children_spec"] == json.loads(given)[1]["children_spec"]


def test_classes_inside_of_others() -> None:
    inner = json.loads(tree("a.Cache", None, LEAF))[1]
    given = tree("builtins.tuple", None, inner)
    assert not is_plain_tree(given)
    assert is_plain_tree(plain_tree(given))


@pytest.mark.parametrize("text", ["[]", "{}", "nonsense", '[1, {"type": "x"}]', None, 3])
def test_what_is_no_tree(text: object) -> None:
    assert not is_tree(text)
