"""The order of pairs: whoever was met least comes first, and the cheap before the dear."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tensorparity.engines.eagle.schedule import EACH, Column, Schedule

CHEAP = [Column(0, f"r{place}") for place in range(20)]
COMPILED = [Column(2, f"c{place}") for place in range(4)]
Pair = tuple[str, Column]


def schedule(functions: int, columns: Iterable[Column], configurations: int = 1, seed: int = 0) -> Schedule[Pair]:
    made: Schedule[Pair] = Schedule(seed)
    for place in range(functions * configurations):
        name = f"f{place % functions}"
        made.offer(name, columns, lambda column, name=name: (name, column))  # type: ignore[misc]
    return made


def all_of(pairs: Schedule[Pair]) -> list[Pair]:
    found: list[Pair] = []
    while taken := pairs.turns(48):
        found += taken
    return found


def test_everything_comes_once() -> None:
    found = all_of(schedule(7, CHEAP, 3))
    assert Counter(found) == {(f"f{f}", column): 3 for f in range(7) for column in CHEAP}
    assert len(schedule(7, CHEAP)) == 7


def test_in_the_first_turns_every_function_meets_some_rules_and_every_rule_some_functions() -> None:
    found = schedule(8, [*CHEAP, *COMPILED]).first_turns(1000)
    assert set(Counter(function for function, _ in found).values()) == {EACH}
    assert Counter(column for _, column in found) == dict.fromkeys([*CHEAP, *COMPILED], 2)  # 48 pairs, 24 rules


def test_a_single_function_meets_the_cheap_rules_first_gradients_included() -> None:
    gradients = [Column(0, column.rule, 1) for column in CHEAP]
    found = [column for _, column in all_of(schedule(1, [*COMPILED, *gradients, *CHEAP]))]
    assert [(column.cost, column.order) for column in found] == [(0, 0)] * 20 + [(0, 1)] * 20 + [(2, 0)] * 4


def test_another_configuration_comes_after_every_rule_was_met() -> None:
    found = [pair for pair in all_of(schedule(3, CHEAP, 2)) if pair[0] == "f0"]
    assert len(set(found[:20])) == 20


def test_a_rule_that_speaks_of_few_functions_meets_them_at_once() -> None:
    pairs: Schedule[Pair] = Schedule(0)
    rare = Column(1, "rare")
    for place in range(30):
        name, own = f"f{place}", [*CHEAP, *([rare] if place == 29 else [])]
        pairs.offer(name, own, lambda column, name=name: (name, column))  # type: ignore[misc]
    assert ("f29", rare) in pairs.first_turns(1000)


def test_what_is_compiled_is_met_in_a_row_after_its_first_functions() -> None:
    found = [column for _, column in schedule(90, [*CHEAP, *COMPILED]).first_turns(1000)]
    begun = [place for place, column in enumerate(found) if column.cost]
    assert Counter(found[place] for place in begun[:8]) == dict.fromkeys(COMPILED, 2)
    assert min(Counter(found[8 : begun[8]])[column] for column in CHEAP) >= 16
    assert len(begun) == 8 + 16 * 4
    assert begun[-1] - begun[8] < 16 * EACH


def test_the_turn_of_a_function_can_be_brought_forward() -> None:
    pairs = schedule(2, CHEAP)
    pairs.first_turns(1000)
    assert not pairs.first_turns(1000)
    pairs.bring_forward("f1")
    pairs.bring_forward("never offered")
    assert {function for function, _ in pairs.first_turns(1000)} == {"f1"}


def test_what_makes_no_pair_is_passed_over() -> None:
    pairs: Schedule[Pair] = Schedule(0)
    pairs.offer("f", CHEAP, lambda column: ("f", column) if column.rule == "r7" else None)
    assert all_of(pairs) == [("f", Column(0, "r7"))]
    assert len(pairs) == 0


def test_the_seed_decides_between_equals() -> None:
    streams = [all_of(schedule(5, CHEAP, seed=seed)) for seed in (1, 1, 2)]
    assert streams[0] == streams[1] != streams[2]
