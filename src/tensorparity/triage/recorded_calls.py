"""The public functions that a layer calls, as a worker recorded them, each as a case of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..core.arrays import Array, Arrays
from ..core.call import argument_from_json
from ..core.case import ApiCall, Case
from ..core.errors import TensorParityError
from ..core.jsontext import Json
from ..core.outcome import Outcome
from ..core.procedure import Goal, Procedure
from ..core.runner import Runner
from ..operators.functions.api import api_known

#: How the names of recorded arrays begin among those of nodes.
_CALL = "call:"


@dataclass(frozen=True)
class RecordedCall:
    """One call of a public function.

    Args:
        number: in the order in which calls begin; a second run gives the same call the same number.
        parents: the calls within which it was made, the innermost first.
        case: the call alone, on the same arguments; None where these are no numbers, words or arrays.
        outputs: what it gave.
    """

    number: int
    api: str
    parents: tuple[int, ...]
    case: Case | None
    outputs: tuple[Array, ...]
    raised: bool

    @property
    def root(self) -> str:
        """The package that it belongs to."""
        return self.api.partition(".")[0]


@dataclass(frozen=True)
class Recording:
    """One run of a layer in which its calls were recorded.

    Args:
        outcome: what the layer gave in that run.
    """

    target: str
    outcome: Outcome
    calls: tuple[RecordedCall, ...]


def record(runner: Runner, case: Case, target: str) -> Recording | None:
    """Run a case of layers, forward, with all calls recorded; None where the target cannot."""
    asked = replace(case, procedure=replace(case.procedure, calls=True))
    (outcome,) = runner.run_pairs([(asked, target)])
    entries = outcome.reply.get("calls") if isinstance(outcome.reply, dict) else None
    if not outcome.completed or not entries:
        return None
    recorded = {name[len(_CALL) :]: a for name, a in outcome.trace.nodes.items() if name.startswith(_CALL)}
    plain = {name: array for name, array in outcome.trace.nodes.items() if not name.startswith(_CALL)}
    shown = replace(outcome, trace=replace(outcome.trace, nodes=plain), reply=None)
    parents = [entry["parent"] for entry in entries]
    calls = [_call(number, entry, _above(number, parents), recorded, case) for number, entry in enumerate(entries)]
    return Recording(target, shown, tuple(calls))


def _above(number: int, parents: Sequence[int | None]) -> tuple[int, ...]:
    found: list[int] = []
    parent = parents[number]
    while parent is not None:
        found.append(parent)
        parent = parents[parent]
    return tuple(found)


def _call(number: int, entry: Mapping[str, Json], parents: tuple[int, ...], arrays: Arrays, of: Case) -> RecordedCall:
    outputs = tuple(arrays[f"{number}/out/{place}"] for place in range(entry["outputs"]))
    known = not entry["problem"] and api_known(entry["api"])
    case = _case_of(number, entry, arrays, of.seed) if known else None
    return RecordedCall(number, entry["api"], parents, case, outputs, entry["raised"])


def _case_of(number: int, entry: Mapping[str, Json], arrays: Arrays, seed: int) -> Case | None:
    """The call alone; None where it takes no array, for then nothing of the layer's went into it."""
    prefix = f"{number}/in/"
    inputs = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
    if not inputs:
        return None
    try:
        args = tuple(argument_from_json(item) for item in entry["args"])
        kwargs = {name: argument_from_json(item) for name, item in entry["kwargs"].items()}
    except TensorParityError:
        return None
    return Case(ApiCall(entry["api"], args, kwargs), Procedure(goal=Goal.CALL), inputs, seed=seed)


def run_with_answers(runner: Runner, case: Case, target: str, answers: Mapping[int, Sequence[Array]]) -> Outcome:
    """Run the layers again, with other answers in place of what these calls gave."""
    named = {f"{number}/{place}": a for number, arrays in answers.items() for place, a in enumerate(arrays)}
    asked = replace(case, procedure=replace(case.procedure, calls=True), answers=named)
    (outcome,) = runner.run_pairs([(asked, target)])
    return outcome
