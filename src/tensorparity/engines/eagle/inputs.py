"""Where the inputs of functions come from: what the libraries list and bring along, and what is learned by trying."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.arraytext import arrays_from_json
from ...core.call import ApiCall
from ...core.case import Case
from ...core.jsontext import Json
from ...core.outcome import Outcome, Status
from ...core.procedure import Goal, Procedure
from ...generators.api_inputs import ApiInputs, ApiListing, samples_case, shipped_cases
from ...generators.api_inputs.inputs import OPTIMIZER
from ...generators.equivalences.base import ONNX
from .settings import VALUES

#: Which libraries bring inputs along.
_WITH_SAMPLES = ("torch", "jax", "keras", ONNX)
_MOST_ELEMENTS = 4096


def questions(targets: Mapping[str, tuple[str, ...]], seed: int = 0) -> list[tuple[Case, str]]:
    """What each library is asked first, and which target answers for it."""
    return [(Case(ApiCall(library), Procedure(goal=Goal.APIS), seed=seed), own[0]) for library, own in targets.items()]


def listings(replies: Sequence[Json]) -> dict[str, ApiListing]:
    """By library, what it offers."""
    found = [ApiListing.from_json(reply) for reply in replies if reply is not None]
    return {listing.library: listing for listing in found}


def samples_questions(
    known: Mapping[str, ApiListing], targets: Mapping[str, tuple[str, ...]], names: Sequence[str]
) -> list[tuple[Case, str]]:
    """What has the libraries give the inputs inside them, of these functions alone: of all, it takes a minute."""
    found = []
    for library in _WITH_SAMPLES:
        own = [api for api in names if api in known[library].apis] if library in known else []
        if own:
            found.append((samples_case(known[library], own), targets[library][0]))
    return found


@dataclass
class _Library:
    inputs: ApiInputs
    shipped: dict[str, list[Case]] = field(default_factory=dict)


class InputSource:
    """Inputs of all functions of all libraries of a run.

    Args:
        known: what each library offers.
    """

    def __init__(self, known: Mapping[str, ApiListing], seed: int) -> None:
        self._seed = seed
        self._plain: dict[str, tuple[str, Case]] = {}
        self._libraries = {library: _Library(ApiInputs(listing, seed)) for library, listing in known.items()}

    def take_in(self, reply: Json) -> dict[str, list[Case]]:
        """Inputs that a library brought along, by function; of None, where it did not answer, there are none."""
        taken: dict[str, list[Case]] = {}
        if reply is None:
            return taken
        outcome = Outcome("", Status.COMPLETED, outputs=arrays_from_json(reply.get("arrays", {})), reply=reply)
        for own in self._libraries.values():
            own_cases = shipped_cases(outcome, own.inputs.listing)
            own.shipped.update({api: of_every_form(cases) for api, cases in own_cases.items()})
            taken.update(own_cases)
        return taken

    def apis(self) -> list[str]:
        return [api for own in self._libraries.values() for api in own.inputs.listing.apis]

    def configurations(self, api: str, count: int, asked: int = 0, total: int | None = None) -> list[Case]:
        """The next calls of a function, shipped ones first, each with ``VALUES`` inputs.

        Args:
            asked: how many were asked for before, of ``total`` in the end.
        """
        own = self._libraries[api.partition(".")[0]]
        if own.inputs.listing.apis[api].kind == OPTIMIZER:
            return []  # what is brought along are settings, to which a model's parameters are wanting
        most = max(1, (2 * (total or count)) // 3)
        shipped = own.shipped.get(api, [])[:most][asked : asked + count]
        if own.inputs.listing.samples_only:
            cases = own.shipped.get(api, [])[asked : asked + count]
        else:
            cases = [*shipped, *own.inputs.configurations(api, count - len(shipped))]
        found = []
        for case in cases:
            if not case.inputs or sum(array.size for array in case.inputs.values()) > _MOST_ELEMENTS:
                continue
            stacked = self._stacked(api, own.inputs, case)
            self._plain[stacked.digest] = (api, case)
            found.append(stacked)
        return found

    def _stacked(self, api: str, inputs: ApiInputs, case: Case) -> Case:
        """The call with other numbers as well, one row each."""
        drawn = [case, *inputs.values(api, case, VALUES - 1)]
        arrays: dict[str, Array] = {
            name: np.stack([np.asarray(one.inputs[name]) for one in drawn]) for name in case.inputs
        }
        procedure = replace(case.procedure, rows=len(drawn))
        return replace(case, procedure=procedure, inputs=arrays, labels={}, seed=self._seed)

    def shipped(self, case: Case) -> Case | None:
        """The call that a trial begins with, where the library brings it along; asked before anything is learned."""
        api, plain = self._plain.get(case.digest, ("", None))
        own = self._libraries.get(api.partition(".")[0])
        brought = own.shipped.get(api, []) if own is not None else []
        return plain if any(one is plain for one in brought) else None

    def learn(self, case: Case, accepted: bool) -> None:
        """Tell the generator whether a call that it proposed was taken."""
        api, plain = self._plain.pop(case.digest, ("", None))
        if plain is not None:
            self._libraries[api.partition(".")[0]].inputs.learn(api, plain, accepted)


def of_every_form(cases: Sequence[Case]) -> list[Case]:
    """The same, those first whose form and types are rare among the ones before: few are taken of what there is."""
    seen: Counter[Hashable] = Counter()
    left, ordered = [(case, _form(case)) for case in cases], []
    while left:
        place = min(range(len(left)), key=lambda one: sum(seen[part] for part in left[one][1]))
        case, form = left.pop(place)
        seen.update(form)
        ordered.append(case)
    return ordered


def _form(case: Case) -> tuple[Hashable, Hashable]:
    """The ranks of the arrays with the settings that are given, and the types of the arrays."""
    assert isinstance(case.subject, ApiCall)
    ranks = tuple((name, array.ndim, array.size == 0) for name, array in case.inputs.items())
    calls = tuple((call.api, len(call.args), tuple(sorted(call.kwargs))) for call in case.subject.calls())
    return (ranks, calls), tuple(array.dtype.str for array in case.inputs.values())


def describe(result: Any) -> Json:
    """The reply of a question; None where there is none."""
    return next(iter(result.replies.values()), None)
