"""The words of findings: a sentence for every code that is used, and titles that name API, parameter and symptom."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tensorparity
from tensorparity.core.evidence import WORDS, Evidence, in_words, observed
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.jsontext import canonical, parse
from tensorparity.core.verdict import Kind, Stage
from tensorparity.reporting.words import (
    SENTENCES,
    in_short,
    never_ran,
    never_trained,
    sentence,
    sentences,
    title,
    with_words,
)

TORCH = "keras:torch"
WHERE: dict[str, Any] = {"layer": "conv_1", "op": "Conv2D", "how": "forward", "against": "reference"}


def codes_in(source: str) -> Iterator[str]:
    """The first argument of every ``observed(...)``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "observed":
            assert isinstance(node.args[0], ast.Constant), ast.unparse(node)
            yield str(node.args[0].value)


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    sources = Path(tensorparity.__file__).parent.rglob("*.py")
    used = {code for path in sources for code in codes_in(path.read_text(encoding="utf-8"))}
    assert used == set(SENTENCES)
    assert WORDS not in SENTENCES


class TestSentences:
    @pytest.mark.parametrize(
        ("evidence", "said"),
        [
            (
                observed("off", target=TORCH, off=0.25, ratio=3e4, **WHERE),
                "keras:torch is off by 0.25 in conv_1 (Conv2D) run alone on identical inputs: "
                "3e+04 times what rounding explains",
            ),
            (
                observed("off", target=TORCH, off=2.0, ratio=5.0, index=[0, 1], observed=3.0, expected=1.0, **WHERE),
                "keras:torch is off by 2 in conv_1 (Conv2D) run alone on identical inputs: 5 times what rounding "
                "explains; at [0, 1] it gives 3 where the reference gives 1",
            ),
            (
                observed("not-finite", target=TORCH, index=[0, 1, 2], observed=3.0, expected=float("nan"), **WHERE),
                "keras:torch gives 3 where the reference gives NaN, at [0, 1, 2], "
                "in conv_1 (Conv2D) run alone on identical inputs",
            ),
            (
                observed("other-shape", target=TORCH, given=[2, 3], wanted=[2, 4], **{**WHERE, "against": "vote"}),
                "keras:torch gives the shape (2, 3) where most targets give (2, 4), "
                "in conv_1 (Conv2D) run alone on identical inputs",
            ),
            (
                observed("off", target=TORCH, off=0.0, ratio=float("inf"), **{**WHERE, "how": "backward"}),
                "keras:torch is wrong in the gradient of conv_1 (Conv2D), pulled back alone on identical inputs and "
                "cotangents: more than any rounding explains",
            ),
            (
                observed("agree", targets=["keras:jax"], against="reference", off=4e-8, ratio=0.3),
                "keras:jax agrees with the float64 reference to 4e-08, 0.3 of what rounding explains",
            ),
            (
                observed(
                    "ended",
                    target="keras:tensorflow",
                    status="crashed",
                    type="SIGFPE",
                    message="",
                    api="keras.layers.MaxPooling2D",
                    parameters={"pool_size": 3, "padding": "same"},
                ),
                "keras:tensorflow: the process was killed by SIGFPE in "
                "keras.layers.MaxPooling2D(pool_size=3, padding='same')",
            ),
            (
                observed("ended", target=TORCH, status="crashed", type="exit code 3", message=""),
                "keras:torch: the process ended with exit code 3",
            ),
            (
                observed("ended", target=TORCH, status="raised", type="ValueError", message="no such axis"),
                "keras:torch raised ValueError: no such axis",
            ),
            (in_words("whatever a plug-in says"), "whatever a plug-in says"),
            (Evidence("of-tomorrow", {"x": 1}, "what it said then"), "what it said then"),
            (Evidence("of-tomorrow", {"x": 1}), "of-tomorrow x=1"),
        ],
    )
    def test_what_is_said(self, evidence: Evidence, said: str) -> None:
        assert sentence(evidence) == said

    def test_a_store_spells_numbers_that_are_none(self) -> None:
        """Strict JSON has no NaN: what comes back is a word, and reads the same."""
        place: dict[str, Any] = {"index": [0], "observed": float("inf"), "expected": float("nan")}
        before = observed("not-finite", target=TORCH, **place, **WHERE)
        after = Evidence.from_json(parse(canonical(before.to_json())))
        assert sentence(after) == sentence(before)


def diagnosis(*evidence: Evidence, **changes: Any) -> Diagnosis:
    given: dict[str, Any] = {
        "suspects": (TORCH,),
        "node": "centercrop_1#0",
        "api": "keras.layers.CenterCrop",
        "parameters": {"data_format": "channels_first"},
    }
    return Diagnosis(Class.DEFECT, evidence=evidence, **(given | changes))


def finding(kind: Kind, *evidence: Evidence, stage: Stage = Stage.FORWARD, **changes: Any) -> Finding:
    return Finding("f1", "muffin", kind, stage, (TORCH, "keras:jax"), diagnosis(*evidence, **changes), "s")


RAISED = observed("ended", target=TORCH, status="raised", type="ValueError", message="no")
INSTEAD = observed("not-finite", target=TORCH, index=[0], observed=3.0, expected="NaN", **WHERE)
LOST = observed("not-finite", target=TORCH, index=[0], observed="NaN", expected=3.0, **WHERE)
OVER = observed("not-finite", target=TORCH, index=[0], observed=float("-inf"), expected=-3.0, **WHERE)
OTHER = observed("not-finite", target=TORCH, index=[0], observed=float("nan"), expected="Infinity", **WHERE)
CROP = "keras.layers.CenterCrop with data_format='channels_first'"


class TestTitles:
    @pytest.mark.parametrize(
        ("found", "said"),
        [
            (finding(Kind.SHAPE), f"{CROP} gives a different shape on keras:torch"),
            (finding(Kind.ERROR, RAISED), f"{CROP} raises ValueError on keras:torch"),
            (finding(Kind.ERROR), f"{CROP} raises an exception on keras:torch"),
            (finding(Kind.HANG), f"{CROP} never ends on keras:torch"),
            (finding(Kind.NAN), f"{CROP} gives NaN or infinity on keras:torch"),
            (finding(Kind.NAN, INSTEAD), f"{CROP} gives a number where NaN is right on keras:torch"),
            (finding(Kind.NAN, LOST), f"{CROP} gives NaN on keras:torch"),
            (finding(Kind.NAN, OVER), f"{CROP} gives -infinity on keras:torch"),
            (finding(Kind.NAN, OTHER), f"{CROP} gives NaN where infinity is right on keras:torch"),
            (finding(Kind.INCONSISTENCY, suspects=("keras",)), f"{CROP} gives wrong numbers on every Keras backend"),
            (finding(Kind.INCONSISTENCY, relative=1e-5), f"{CROP} gives inexact numbers on keras:torch"),
            (
                finding(Kind.INCONSISTENCY, stage=Stage.BACKWARD, parameters={}),
                "the gradient of keras.layers.CenterCrop gives wrong numbers on keras:torch",
            ),
            (finding(Kind.SHAPE, suspects=("exporter:keras.onnx",)), f"{CROP} is exported wrongly by keras.onnx"),
            (
                finding(Kind.INCONSISTENCY, suspects=("torch:eager", "exporter:torch.onnx")),
                f"{CROP} is exported wrongly by torch.onnx, or wrong on torch:eager",
            ),
            (finding(Kind.CRASH, api=None, parameters={}), "a model kills the process on keras:torch"),
        ],
    )
    def test_what_is_wrong_with_what(self, found: Finding, said: str) -> None:
        assert title(found) == said

    def test_long_parameters_are_cut(self) -> None:
        many = {f"parameter_{index}": "x" * 500 for index in range(9)}
        assert len(title(finding(Kind.SHAPE, parameters=many))) < 400

    def test_how_far_reduction_came(self) -> None:
        found = finding(Kind.SHAPE)
        assert in_short(found) == "wrong (shape), stage forward"
        stopped = Finding(**{**_fields(found), "reduced": False, "not_reduced": "out of time"})
        assert in_short(stopped) == "wrong (shape), stage forward; not fully reduced: out of time"

    def test_through_what_users_meet_it(self) -> None:
        through = ("keras.layers.Conv1D", "keras.layers.Conv2D")
        found = Finding(**{**_fields(finding(Kind.SHAPE)), "reached_through": through})
        said = "wrong (shape), stage forward; users meet it through keras.layers.Conv1D and keras.layers.Conv2D"
        assert in_short(found) == said


def _fields(found: Finding) -> dict[str, Any]:
    return {name: getattr(found, name) for name in found.__dataclass_fields__}


class TestEquivalences:
    @pytest.mark.parametrize(
        ("rule", "differs", "said"),
        [
            ("strided", {}, "gives different numbers from the same call on strided memory"),
            ("strided", {"wrong": 1}, "gives wrong numbers on strided memory"),
            ("by-element", {"wrong": 0, "kind": "nan"}, "differs in NaN or infinity from the same call element by"),
            ("meta", {"kind": "dtype"}, "gives a different dtype from the same call on the meta device"),
            ("xla-captured", {"kind": "error", "wrong": 1}, "raises compiled by XLA, its inputs as constants, and"),
            ("vmap", {"kind": "error", "wrong": 0}, "raises where the same call mapped by vmap does not"),
            (
                "slopes",
                {"name": "gradient:input:x", "wrong": 0},
                "has a different gradient from the same call by finite differences",
            ),
            ("shifted-and-aot", {"wrong": 1}, "gives wrong numbers on memory at a different offset, compiled by aot"),
            ("cast-float16-float32", {"wrong": 1}, "gives wrong numbers in float16"),
            ("pad-unpad", {}, "from an equivalent computation by the rule 'pad-unpad'"),
        ],
    )
    def test_a_title_says_what_the_rule_is_about(self, rule: str, differs: dict[str, Any], said: str) -> None:
        broken = observed("breaks-rule", target="torch:eager", rule=rule, how="result 0: apart by 3")
        place = observed("differs-at", **{"name": "0", "allowed": 0.0, "wrong": None, "kind": "equivalence", **differs})
        assert said in title(finding(Kind.EQUIVALENCE, broken, place))

    @pytest.mark.parametrize(
        ("name", "wrong", "said"),
        [
            ("0", 1, "result 0: the other side is considered wrong"),
            ("gradient:input:x", 0, "the gradient by x: the plain call is considered wrong"),
            ("", None, "the call: nothing says which of the two is wrong"),
        ],
    )
    def test_what_differs_is_said_in_words(self, name: str, wrong: int | None, said: str) -> None:
        assert sentence(observed("differs-at", name=name, allowed=0.1, wrong=wrong)).startswith(said)

    def test_no_rounding_makes_nan_of_a_number(self) -> None:
        said = sentence(observed("differs-at", name="0", allowed=math.inf, wrong=0))
        assert said.endswith("rounding explains no NaN or infinity of one side alone")

    def test_what_shows_in_a_unit_alone(self) -> None:
        assert sentence(observed("only-together")).startswith("only together")


class TestStored:
    def test_words_and_observations_come_back(self) -> None:
        found = with_words(finding(Kind.ERROR, RAISED, in_words("and a word")))
        stored = json.loads(canonical(found.to_stored()))
        assert stored["evidence"] == list(sentences(found.diagnosis))
        assert Finding.from_json(stored) == found

    def test_the_contract_has_sentences_and_no_observations(self) -> None:
        entry = with_words(finding(Kind.ERROR, RAISED)).to_json()
        assert entry["evidence"] == ["keras:torch raised ValueError: no"]
        assert (entry["severity"], entry["reduced"]) == ("refuses-valid", None)
        assert "observations" not in entry

    def test_a_store_of_before_has_sentences_alone(self) -> None:
        new = ("title", "severity", "reduced", "observations", "relative", "wavering", "fused", "not_reduced")
        stored = finding(Kind.ERROR, in_words("keras:torch raised: ValueError: no")).to_stored()
        old = Finding.from_json({name: value for name, value in stored.items() if name not in new})
        assert sentences(old.diagnosis) == ("keras:torch raised: ValueError: no",)
        assert (old.reduced, old.title, with_words(old).title) == (
            None,
            "",
            f"{CROP} raises an exception on keras:torch",
        )


@pytest.mark.parametrize(
    ("tried", "missing", "needed", "said"),
    [
        (["threads=2"], [], [], "seen under every setting tried: the default and threads=2"),
        (
            ["A=0", "A=1", "A=2", "threads=2"],
            ["A=0"],
            ["A=1"],
            "seen only with A=1, also with A=2; not seen with A=0; no difference with threads=2",
        ),
        (["A=0"], ["A=0"], [], "seen with the default settings; not seen with A=0"),
    ],
)
def test_under_which_settings_it_is_seen(tried: list[str], missing: list[str], needed: list[str], said: str) -> None:
    assert sentence(observed("settings", tried=tried, missing=missing, needed=needed)) == said


def test_an_original_that_nothing_shows_to_be_right() -> None:
    said = sentence(observed("original-doubt", originals=["torch:eager"]))
    assert "torch:eager, or code of yours that it runs, may be wrong as well as the exporter" in said
    said = sentence(observed("original-doubt", originals=["torch:eager", "torch:compile"]))
    assert "torch:eager and torch:compile, or code of yours that they run" in said


def test_a_verb_goes_with_the_number_of_targets() -> None:
    assert never_ran(["backward"], [TORCH]) == "backward never ran: keras:torch does not support it"
    both = never_ran(["loss", "backward"], [TORCH, "onnxruntime"])
    assert both == "loss and backward never ran: keras:torch and onnxruntime do not support them"
    assert never_trained([TORCH]).startswith("the model was not trained: keras:torch does not support training")
