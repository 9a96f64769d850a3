"""What every target made of one call of an operator on stacked inputs: errors row by row, wrong answers, silence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array, dtype_name
from ..core.case import ApiCall, Case
from ..core.endings import KIND_OF_ENDING
from ..core.jsontext import Json
from ..core.messages import gist, normalised_message
from ..core.oracle import Measures
from ..core.outcome import Outcome, Status
from ..core.traits import Traits
from ..core.verdict import Kind
from ..operators.functions.spec import Operator
from .measure.operator_errors import RowErrors, measure_targets, usable
from .measure.special_values import special, wrong_elements
from .operator_forms import WrongForm, wrong_forms

#: The measures of a row, as an engine is told them.
MEASURED = ("units", "absolute", "relative", "ulps", "place")


@dataclass(frozen=True, slots=True)
class Ended:
    """A call that raised, crashed or hung on one target, or whose answer has a wrong shape or dtype."""

    outcome: Outcome
    form: WrongForm | None = None

    @property
    def kind(self) -> Kind:
        return self.form.kind if self.form else KIND_OF_ENDING[self.outcome.status]

    @property
    def told(self) -> str:
        failure = self.outcome.failure
        if self.form:
            return self.form.told
        return f"{failure.type}: {gist(failure.message)}" if failure else self.outcome.status.value

    @property
    def status(self) -> str:
        """In one word."""
        return f"wrong {self.form.kind.value}" if self.form else self.outcome.status.value

    @property
    def exception(self) -> str:
        failure = self.outcome.failure
        return failure.type if failure and not self.form else ""

    @property
    def message(self) -> str:
        """What the exception says, without names and figures: two of one type may have nothing else in common."""
        failure = self.outcome.failure
        return normalised_message(failure.message) if failure and self.kind is Kind.ERROR else ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a target could not be measured; ``ended`` where somebody may be blamed for it."""

    why: str
    ended: Ended | None = None

    def to_json(self) -> Json:
        ended = self.ended
        told = {"status": ended.status, "crashed": ended.kind is Kind.CRASH} if ended else {}
        return {"why": self.why, **told}


@dataclass(frozen=True)
class Notes:
    """One call, noted.

    Args:
        errors: by target that could be measured; empty where the inputs hold NaN or infinities.
        wrong: by target, the rows with NaN or infinities that it answers wrongly.
        refused: targets that raised on NaN or infinities; nobody says that they must be taken.
    """

    operator: Operator
    case: Case
    dtype: str
    outcomes: Mapping[str, Outcome]
    traits: Traits
    errors: Mapping[str, RowErrors] = field(default_factory=dict)
    wrong: Mapping[str, Array] = field(default_factory=dict)
    problems: Mapping[str, Problem] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def answered(self) -> tuple[str, ...]:
        """The targets that could be measured."""
        return tuple(t for t in self.outcomes if t not in self.problems and t not in self.refused)

    @property
    def outputs(self) -> dict[str, Array]:
        return {target: self.outcomes[target].outputs["0"] for target in self.answered}

    def special_row(self, target: str) -> int | None:
        """The row that a target is alone, or nearly alone, in getting wrong."""
        rows = self.wrong.get(target)
        if rows is None or not rows.any():
            return None
        company = np.sum(list(self.wrong.values()), axis=0)
        return int(np.argmin(np.where(rows, company, np.inf)))

    @property
    def measures(self) -> Measures:
        return {
            name: {target: getattr(errors, name).tolist() for target, errors in self.errors.items()}
            for name in MEASURED
        }

    @property
    def facts(self) -> dict[str, Json]:
        """What a table of results needs besides the measures."""
        rows = {target: self.special_row(target) for target in self.wrong}
        return {
            "problems": {target: problem.to_json() for target, problem in self.problems.items()},
            "refused": dict(self.refused),
            "special": {target: row for target, row in rows.items() if row is not None},
        }


def note(operator: Operator, case: Case, outcomes: Mapping[str, Outcome], traits: Traits) -> Notes:
    """Measure the outcomes of one call against the true value."""
    assert isinstance(case.subject, ApiCall)
    arrays, params = operator.operand_arrays(case.inputs), dict(case.subject.kwargs)
    dtype = dtype_name(next(iter(case.inputs.values())))
    with np.errstate(all="ignore"):
        truth = operator.evaluate(params, arrays)
    why = {target: usable(outcome, truth, dtype) for target, outcome in outcomes.items()}
    forms = wrong_forms(operator, outcomes, truth, dtype, traits)
    is_special = special(list(case.inputs.values()))
    refused = {t: why[t] for t, o in outcomes.items() if why[t] and is_special and o.status is Status.RAISED}
    problems = {t: _problem(o, why[t], forms.get(t)) for t, o in outcomes.items() if why[t] and t not in refused}
    outputs = {target: outcome.outputs["0"] for target, outcome in outcomes.items() if not why[target]}
    noted = Notes(operator, case, dtype, outcomes, traits, problems=problems, refused=refused)
    if not is_special:
        return replace(noted, errors=measure_targets(operator, outputs, truth, dtype, traits))
    wrong = {
        target: np.asarray(wrong_elements(operator, params, arrays, output, dtype).reshape(len(output), -1).any(axis=1))
        for target, output in outputs.items()
    }
    return replace(noted, wrong=wrong)


def _problem(outcome: Outcome, problem: str, form: WrongForm | None) -> Problem:
    """What raised or has a wrong form can be blamed; whatever else was not measured is a lack."""
    if form is not None or outcome.status in KIND_OF_ENDING:
        ended = Ended(outcome, form)
        return Problem(ended.told, ended)
    return Problem(outcome.failure.message if outcome.failure and outcome.status is Status.UNSUPPORTED else problem)
