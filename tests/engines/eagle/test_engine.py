"""The engine: what libraries list is tried, what is accepted is held against every rule, and everything is counted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from tensorparity.cli.equiv import command
from tensorparity.core.arraytext import arrays_to_json
from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case, Counterpart
from tensorparity.core.engine import Ask, Phased, Result
from tensorparity.core.errors import UsageError
from tensorparity.core.jsontext import Json
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.rule import RULES, Demands, demands_of
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.engines.eagle.engine import DEAR_SHARE, FUNCTIONS, EagleEngine, counterparts
from tensorparity.engines.eagle.inputs import InputSource, listings, of_every_form
from tensorparity.engines.eagle.names import check_names
from tensorparity.engines.eagle.settings import EagleSettings
from tensorparity.engines.eagle.tables import EagleTally, settings_of
from tensorparity.targets.catalogue import traits_of

TARGETS = ("torch:eager", "torch:compile")
PARAMETER = {"name": "input"}
LISTED = {
    "library": "torch",
    "apis": [
        {"name": f"torch.{name}", "kind": "function", "aliases": [], "parameters": [PARAMETER], "doc": "input (Tensor)"}
        for name in ("tanh", "sin", "exp")
    ],
    "excluded": {},
}


def engine(seed: int = 0, **settings: Json) -> EagleEngine:
    told = {"rules": ["strided", "inductor"], "inputs": 80, "derivatives": 0, **settings}
    return EagleEngine(Setup(seed, TARGETS, traits_of(TARGETS), told))


def told(ask: Ask, verdict: Judgement = Judgement.PASS, accept: bool = True) -> Result:
    replies: Mapping[str, Json] = {"torch:eager": {"rows": {}}}
    if ask.case.procedure.goal is Goal.APIS:
        replies = {"torch:eager": LISTED}
    if ask.case.procedure.goal is Goal.SAMPLES:
        replies = {"torch:eager": {"samples": [], "missing": [], "unwritten": 0}}
    verdicts = (Verdict(verdict, ("torch:eager",), "so"),) if ask.case.counterpart else ()
    status = Status.COMPLETED if accept else Status.RAISED
    return Result(0, ask.case.digest, verdicts, {"torch:eager": status}, replies=replies)


def run(eagle: EagleEngine, **how: object) -> list[Ask]:
    found: list[Ask] = []
    while asks := eagle.ask():
        found += asks
        eagle.tell([told(ask, **how) for ask in asks])  # type: ignore[arg-type]
    return found


def test_a_library_is_asked_what_it_offers_by_the_flavour_that_compiles_nothing() -> None:
    (first, *_) = engine().ask()
    assert first.case.procedure.goal is Goal.APIS
    assert first.targets == ("torch:eager",)


def test_what_is_accepted_is_held_against_the_rules_the_dear_ones_last() -> None:
    asks = run(engine())
    rules = [ask.case.counterpart.rule for ask in asks if ask.case.counterpart]
    assert set(rules) == {"strided", "inductor"}
    assert rules == sorted(rules, key=lambda rule: rule == "inductor")
    assert rules.count("inductor") == 3  # few=1 of each function


def test_what_is_refused_is_held_against_nothing() -> None:
    assert not any(ask.case.counterpart for ask in run(engine(), accept=False))


def test_functions_are_chosen_by_glob() -> None:
    apis = {ask.case.subject.api for ask in run(engine(apis=["torch.t*"])) if ask.case.counterpart}  # type: ignore[union-attr]
    assert apis == {"torch.tanh"}


class TwiceTheSame:
    """Somebody else's rule: no class of ours, and nothing but a name and the other side."""

    name = "twice-the-same"
    asked: ClassVar[list[str]] = []

    def counterpart(self, case: Case) -> Counterpart | None:
        assert isinstance(case.subject, ApiCall)
        self.asked.append(case.subject.api)
        return Counterpart(ApiCall(case.subject.api, (case.subject,))) if case.subject.api == "torch.exp" else None


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> TwiceTheSame:
    rule = TwiceTheSame()
    monkeypatch.setattr(TwiceTheSame, "asked", [])
    RULES.names()
    monkeypatch.setitem(RULES._paths, rule.name, "nowhere:rule")
    monkeypatch.setitem(RULES._loaded, rule.name, rule)
    return rule


def test_a_rule_of_somebody_elses_package_is_held_against_accepted_calls(foreign: TwiceTheSame) -> None:
    assert [rule.name for rule in EagleSettings(("twice-*",)).chosen()] == [foreign.name]
    assert foreign.name in {rule.name for rule in EagleSettings().chosen()}
    eagle = engine(rules=[foreign.name])
    cases = [ask.case for ask in run(eagle) if ask.case.counterpart]
    assert set(foreign.asked) == {"torch.tanh", "torch.sin", "torch.exp"}
    assert {(case.subject.api, case.counterpart.rule) for case in cases} == {("torch.exp", foreign.name)}  # type: ignore[union-attr]
    assert len(cases) == 8
    assert set(eagle.tables()["per_rule"]) == {foreign.name}


def test_a_rule_of_somebody_else_may_say_of_which_functions_it_speaks(
    foreign: TwiceTheSame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TwiceTheSame, "applies", lambda rule, api: api.endswith("exp"), raising=False)
    monkeypatch.setattr(TwiceTheSame, "demands", Demands(dtypes=False), raising=False)
    run(engine(rules=[foreign.name]))
    assert set(foreign.asked) == {"torch.exp"}
    (wrapped,) = EagleSettings((foreign.name,)).chosen()
    assert wrapped.demands == demands_of(foreign.name) == Demands(dtypes=False)


def test_the_seed_decides_the_order() -> None:
    streams = [[ask.case.digest for ask in run(engine(seed))] for seed in (1, 1, 2)]
    assert streams[0] == streams[1] != streams[2]


def test_tables_count_pairs_inputs_and_bugs_by_category() -> None:
    eagle = engine(rules=["strided"])
    run(eagle, verdict=Judgement.FAIL)
    tables = eagle.tables()
    assert tables["pairs"] == 3
    assert tables["inputs"] == tables["inconsistencies"] * 10
    assert tables["table_2"]["Beyond the paper"] == {"torch": 3}
    assert tables["coverage"]["torch"]["enumerated"] == 3
    assert tables["coverage"]["torch"]["accepted_share"] == 1.0


def test_a_few_calls_are_tried_before_the_others_so_that_they_teach() -> None:
    eagle = engine(inputs=200, rules=["strided"])
    sizes = []
    while asks := eagle.ask():
        sizes.append(sum(ask.case.counterpart is None and ask.case.procedure.goal is Goal.CALL for ask in asks))
        eagle.tell([told(ask) for ask in asks])
    assert [size for size in sizes if size] == [12, 24, 24]  # 3 functions: 4, 8 and 8 of 20 configurations


def test_every_function_is_tried_a_little_before_any_is_tried_much() -> None:
    asks = [ask for ask in run(engine(inputs=200, rules=["strided"])) if ask.case.procedure.goal is Goal.CALL]
    tried = [ask.case.subject.api for ask in asks if ask.case.counterpart is None]  # type: ignore[union-attr]
    assert len(set(tried[:12])) == 3


def test_inputs_inside_a_library_are_asked_for_as_they_are_needed() -> None:
    """All of torch's take a minute; a campaign of a few minutes sees a few functions."""
    many = [{**LISTED["apis"][0], "name": f"torch.f{place}"} for place in range(100)]  # type: ignore[index, dict-item]
    eagle = engine(inputs=10, rules=["strided"])
    order = []
    while asks := eagle.ask():
        order += [ask.case for ask in asks if ask.case.counterpart is None]
        results = [told(ask) for ask in asks]
        if order[-1].procedure.goal is Goal.APIS:
            results = [replace(result, replies={"torch:eager": {**LISTED, "apis": many}}) for result in results]
        eagle.tell(results)
    asked = [case.subject.kwargs["of"] for case in order if case.procedure.goal is Goal.SAMPLES]  # type: ignore[union-attr]
    assert [len(names) for names in asked] == [48, 48, 4]
    known: set[str] = set()
    for case in order[1:]:
        if case.procedure.goal is Goal.SAMPLES:
            known |= set(case.subject.kwargs["of"])  # type: ignore[union-attr]
        else:
            assert case.subject.api in known  # type: ignore[union-attr]


def test_a_round_is_sorted_by_rule_so_that_a_compiler_gets_together_what_is_compiled_in_one_way() -> None:
    eagle = engine(inputs=40, rules=["aot-eager", "strided", "jit-trace"])
    rounds = []
    while asks := eagle.ask():
        rounds.append([ask.case.counterpart.rule for ask in asks if ask.case.counterpart])
        eagle.tell([told(ask) for ask in asks])
    order = ("strided", "jit-trace", "aot-eager")
    assert sum(map(len, rounds)) == 3 * 3 * 4
    assert all(rules == sorted(rules, key=order.index) for rules in rounds)


MANY = {**LISTED, "apis": [{**LISTED["apis"][0], "name": f"torch.f{place}"} for place in range(100)]}  # type: ignore[index, dict-item]


def stream(eagle: EagleEngine, listed: Json, until: int) -> list[Ask]:
    """The first cases of a sweep over what a library lists."""
    found: list[Ask] = []
    while len(found) < until and (asks := eagle.ask()):
        found += asks
        results = [told(ask) for ask in asks]
        if asks[0].case.procedure.goal is Goal.APIS:
            results = [replace(result, replies={"torch:eager": listed}) for result in results]
        eagle.tell(results)
    return found[:until]


def test_a_sweep_meets_every_rule_and_many_functions_within_its_first_cases() -> None:
    """Whichever rules the seed would have put last: a budget of a minute is over after some 300 cases."""
    asks = [ask for ask in stream(engine(1, rules=[], inputs=400), MANY, 3000) if ask.case.counterpart]
    whole, begun = rules_of(asks), rules_of(stream(engine(1, rules=[], inputs=400), MANY, 300))
    apis = {getattr(ask.case.subject, "api", "") for ask in stream(engine(1, rules=[], inputs=400), MANY, 300)}
    assert len(whole) > 60
    assert begun == whole
    assert len([api for api in apis if api.startswith("torch.f")]) >= 20


def rules_of(asks: list[Ask]) -> set[str]:
    return {ask.case.counterpart.rule for ask in asks if ask.case.counterpart}


def test_what_takes_a_compiler_seconds_begins_when_its_time_has_come() -> None:
    eagle = engine(inputs=400, rules=["strided", "inductor"])
    assert isinstance(eagle, Phased)
    assert dict(eagle.shares) == {FUNCTIONS: 0.85}
    assert not eagle.end_phase()  # nothing is known yet that would come then
    before = stream(eagle, MANY, 200)
    assert not any(ask.case.counterpart and ask.case.counterpart.rule == "inductor" for ask in before)
    assert eagle.end_phase()
    assert not eagle.end_phase()
    after = stream(eagle, MANY, 50)
    assert {ask.case.counterpart.rule for ask in after if ask.case.counterpart} >= {"inductor"}
    assert [ask.case.counterpart.rule for ask in after[:30]] == ["inductor"] * 30  # type: ignore[union-attr]
    assert engine(rules=["strided"]).shares == {}


def test_the_share_is_the_one_that_the_help_names() -> None:
    (budget,) = (option for option in command.params if option.name == "budget")
    assert f"the last {DEAR_SHARE:.0%} of its search".replace("%", " %") in str(getattr(budget, "help", ""))


def test_what_costs_too_much_is_left_out_and_named() -> None:
    eagle = engine(rules=[], inputs=10, dearest=2)
    assert not {ask.case.counterpart.rule for ask in run(eagle) if ask.case.counterpart} & {"inductor"}
    assert eagle.tables()["left_out"] == ["inductor", "inductor-captured"]
    named = engine(rules=["inductor"], inputs=10, dearest=2)
    assert {ask.case.counterpart.rule for ask in run(named) if ask.case.counterpart} == {"inductor"}
    assert named.tables()["left_out"] == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("torch.tanhh", "did you mean torch.tanh?"),
        ("tanh", "did you mean torch.tanh?"),
        ("numpy.nothing-like-it", "no public function of torch"),
    ],
)
def test_a_name_that_no_library_has_is_refused_with_those_that_are_near(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        run(engine(apis=["torch.sin", name]))
    assert not [ask for ask in run(engine(apis=["torch.nothing*"])) if ask.case.counterpart]


@pytest.mark.parametrize(
    ("name", "said"),
    [("torch.save", "torch.save is never called: touches files"), ("torch.tangens", "listed as torch.tanh")],
)
def test_a_name_that_is_never_called_or_is_another_ones_is_told_from_one_that_nobody_has(name: str, said: str) -> None:
    tanh = {**LISTED["apis"][0], "aliases": ["torch.tangens"]}  # type: ignore[index, dict-item]
    listing = {**LISTED, "apis": [tanh], "excluded": {"torch.save": "touches files"}}
    with pytest.raises(UsageError, match=re.escape(said)):
        check_names([name], {"torch.tanh"}, listings([listing]).values())


def test_models_are_made_for_those_who_want_some() -> None:
    (batches,) = EagleSettings(("batches-of-3",)).chosen()
    wanting = {
        wanted: EagleSettings(apis=wanted).concerns(batches)
        for wanted in ((), ("torch.sin",), ("torch.sin", "torch.nn.Linear"), ("torch.*",), ("keras.Model",))
    }
    assert [wanted for wanted, does in wanting.items() if not does] == [("torch.sin",)]


def test_functions_have_counterparts_by_name() -> None:
    listed = {
        "torch": ["torch.nn.Conv2d", "torch.take_along_dim"],
        "keras": ["keras.layers.Conv2D"],
        "jax": ["jax.nn.x"],
    }
    assert counterparts(["torch.nn.Conv2d", "torch.take_along_dim"], listed) == {
        "torch.nn.Conv2d": ["keras"],
        "torch.take_along_dim": [],
    }


def test_what_one_side_alone_refuses_is_tallied_apart() -> None:
    tally, rule = (
        EagleTally(),
        EagleEngine(Setup(0, TARGETS, traits_of(TARGETS), {"rules": ["strided"]})).rules["strided"],
    )
    passed = Verdict(Judgement.PASS, ("torch:eager",), "so")
    tally.add_pair(rule, "torch.sin", 10, (passed,), one_sided=3)
    tally.add_pair(rule, "torch.sin", 10, (replace(passed, judgement=Judgement.FAIL),), one_sided=4)
    tables = tally.to_json({"strided": rule}, ())
    assert tables["one_sided"] == {"strided|torch.sin": 3}
    assert tables["inconsistencies"] == 1
    assert tables["table_3"] == {"torch": {"pairs": 1, "inputs_per_pair": 20.0}}


def test_a_rule_is_asked_only_of_the_libraries_it_speaks_of() -> None:
    asks = run(engine(rules=["save-keras", "strided"]))
    assert {ask.case.counterpart.rule for ask in asks if ask.case.counterpart} == {"strided"}


def test_gradients_are_asked_of_what_has_any() -> None:
    orders = {ask.case.procedure.derivative for ask in run(engine(derivatives=1)) if ask.case.counterpart}
    assert orders == {0, 1}
    whole = [ask.case for ask in run(engine(derivatives=1)) if ask.case.counterpart]
    kinds = {array.dtype.kind for case in whole if case.procedure.derivative for array in case.inputs.values()}
    assert kinds <= set("fcV")


@pytest.mark.parametrize("settings", [{"rules": ["17"]}, {"rules": ["nonsense"]}, {"colour": "red"}])
def test_what_nobody_knows_is_refused(settings: dict[str, Json]) -> None:
    with pytest.raises(UsageError):
        engine(**settings)


def tallied(*calls: tuple[str, ApiCall], settable: bool = True) -> EagleTally:
    tally = EagleTally()
    for place, (api, call) in enumerate(calls):
        tally.add_plain(api, f"({place % 3},)", 5, settings_of(call), settable=settable)
    return tally


def test_a_function_with_parameters_is_tested_by_two_settings_of_them() -> None:
    sums = [ApiCall("torch.sum", (ArrayArg(name),)) for name in ("a", "b", "c")]
    along = ApiCall("torch.sum", (ArrayArg("a"),), {"dim": 0})
    assert not tallied(*(("torch.sum", call) for call in sums)).apis["torch.sum"].is_tested
    assert tallied(*(("torch.sum", call) for call in sums), settable=False).apis["torch.sum"].is_tested
    assert tallied(*(("torch.sum", call) for call in (*sums, along))).apis["torch.sum"].is_tested


def test_raw_operations_are_counted_apart_in_all_and_by_rule() -> None:
    names = ("tensorflow.abs", "tensorflow.raw_ops.Abs")
    tally = tallied(*((name, ApiCall(name)) for name in names for _ in range(3)), settable=False)
    rule = EagleEngine(Setup(0, TARGETS, traits_of(TARGETS), {"rules": ["xla"]})).rules["xla"]
    for name in names:
        tally.add_pair(rule, name, 10, ())
    tables = tally.to_json(
        {"xla": rule}, [*names, "tensorflow.sin", "tensorflow.raw_ops.Sin", "tensorflow.raw_ops.Cos"]
    )
    own = tables["coverage"]["tensorflow"]
    assert (own["enumerated"], own["tested"]) == (5, 2)
    assert own["raw"] == {"enumerated": 3, "tried": 1, "with_valid_inputs": 1, "tested": 1}
    assert (tables["per_rule"]["xla"]["tested"], tables["per_rule"]["xla"]["tested_raw"]) == (2, 1)


def test_how_a_plain_call_ends_is_looked_at_unless_it_may_end_in_any_way() -> None:
    unsafe = [{**LISTED["apis"][0], "doc": "Out of range is undefined behavior."}, LISTED["apis"][1]]  # type: ignore[index]
    eagle = engine(rules=["strided"])
    oracles = {}
    while asks := eagle.ask():
        oracles.update({ask.case.subject.api: ask.oracles for ask in asks if ask.case.counterpart is None})  # type: ignore[union-attr]
        results = [told(ask) for ask in asks]
        if asks[0].case.procedure.goal is Goal.APIS:
            results = [replace(result, replies={"torch:eager": {**LISTED, "apis": unsafe}}) for result in results]
        eagle.tell(results)
    assert oracles["torch.tanh"] == ("outcomes",)
    assert oracles["torch.sin"] == ("plain_call",)


OF_SIN = {"api": "torch.sin", "args": [{"$array": "x0"}], "kwargs": {}}
SHIPPED = {
    "samples": [{"of": "torch.sin", "call": OF_SIN, "arrays": ["x0"]}] * 3,
    "arrays": arrays_to_json({f"{place}/x0": np.ones((2, 3 + place), np.float32) for place in range(3)}),
}


@pytest.mark.parametrize("accept", [True, False])
def test_a_call_that_ships_and_is_refused_is_judged_by_itself(accept: bool) -> None:
    eagle = engine(rules=["strided"], apis=["torch.sin"])
    found = []
    while asks := eagle.ask():
        found += [ask for ask in asks if ask.oracles == ("declared_valid",)]
        results = [told(ask, accept=accept) for ask in asks]
        if asks[0].case.procedure.goal is Goal.SAMPLES:
            results = [replace(result, replies={"torch:eager": SHIPPED}) for result in results]
        eagle.tell(results)
    assert all(ask.case.procedure.rows is None and ask.case.labels for ask in found)
    assert [ask.case.inputs["x0"].shape for ask in found] == ([] if accept else [(2, 3), (2, 4), (2, 5)])


class TestModels:
    LISTED: ClassVar[Json] = {
        **LISTED,
        "library": "keras",
        "apis": [{**LISTED["apis"][0], "name": name} for name in ("keras.layers.Dense", "keras.ops.tanh")],  # type: ignore[index]
    }

    def asks(self, **settings: Json) -> list[Ask]:
        targets = ("keras:torch",)
        eagle = EagleEngine(Setup(0, targets, traits_of(targets), {"inputs": 40, "derivatives": 0, **settings}))
        found: list[Ask] = []
        while asks := eagle.ask():
            found += asks
            eagle.tell([self.told(ask) for ask in asks])
        return found

    def told(self, ask: Ask) -> Result:
        replies: Mapping[str, Json] = {"keras:torch": {"rows": {}}}
        if ask.case.procedure.goal is Goal.APIS:
            replies = {"keras:torch": self.LISTED}
        if ask.case.procedure.goal is Goal.SAMPLES:
            replies = {"keras:torch": {"samples": [], "missing": [], "unwritten": 0}}
        verdicts = (Verdict(Judgement.PASS, ask.targets, "so"),) if ask.case.counterpart else ()
        return Result(0, ask.case.digest, verdicts, {"keras:torch": Status.COMPLETED}, replies=replies)

    def test_every_layer_is_exported_and_no_call_is_tried_for_it(self) -> None:
        asks = [ask for ask in self.asks(rules=["export-torch"], models=[]) if ask.counted]
        assert len(asks) > 100
        assert all(ask.case.counterpart for ask in asks)

    def test_layers_are_chosen_by_their_names(self) -> None:
        asks = [ask for ask in self.asks(rules=["export-torch"], apis=["keras.layers.Dense"]) if ask.counted]
        assert [ask.case.subject.nodes[0].op for ask in asks] == ["Dense"]  # type: ignore[union-attr]

    def test_models_of_the_zoo_come_last_on_a_thousand_instances(self) -> None:
        asks = [a for a in self.asks(rules=["save-h5", "whole-h5", "fed-loader"], models=["lenet1"]) if a.counted]
        *_, first, second, third = asks
        names = {ask.case.counterpart.rule: ask.case for ask in (first, second, third) if ask.case.counterpart}
        assert set(names) == {"save-h5", "whole-h5", "fed-loader"}
        for case in names.values():
            (images,) = case.inputs.values()
            assert len(np.unique(images, axis=0)) == 1000
        assert names["whole-h5"].procedure.optimizer is not None
        assert names["save-h5"].procedure.optimizer is None
        assert len([a for a in asks if a.case.digest == names["save-h5"].digest]) == 1


def test_of_what_a_library_brings_along_the_first_few_have_every_form() -> None:
    def call(shape: tuple[int, ...], dtype: str, **settings: object) -> Case:
        return Case(
            ApiCall("torch.f", (ArrayArg("x"),), settings), Procedure(goal=Goal.CALL), {"x": np.zeros(shape, dtype)}
        )

    many = [call((), "float64"), call((), "float64"), call((3,), "float64"), call((), "int64")]
    many += [call((), "float64", dim=0), call((2, 0), "float64"), call((3,), "float32")]
    ordered = of_every_form(many)
    assert sorted(map(id, ordered)) == sorted(map(id, many))
    first = ordered[:5]
    assert {case.inputs["x"].shape for case in first} == {(), (3,), (2, 0)}
    assert {case.inputs["x"].dtype.name for case in first} == {"float64", "int64", "float32"}
    assert ordered[-1] is many[1]  # the only one that is like another in everything


def test_settings_of_an_optimizer_that_a_library_brings_along_are_no_call() -> None:
    reply = {"library": "torch", "excluded": {}, "apis": [
        {"name": name, "kind": kind, "parameters": [{"name": "lr", "type": "Tensor"}]}
        for name, kind in (("torch.optim.Adam", "optimizer"), ("torch.f", "function"))
    ]}  # fmt: skip
    samples = [
        {"of": name, "call": ApiCall(name, (), {"lr": ArrayArg("x")}).to_json(), "arrays": ["x"]}
        for name in ("torch.optim.Adam", "torch.f")
    ]
    source = InputSource(listings([reply]), 0)
    arrays = {f"{place}/x": np.ones(3, np.float32) for place in (0, 1)}
    taken = source.take_in({"samples": samples, "arrays": arrays_to_json(arrays)})
    assert set(taken) == {"torch.optim.Adam", "torch.f"}  # rules about training make something of it
    assert source.configurations("torch.f", 2)
    assert not source.configurations("torch.optim.Adam", 2)
