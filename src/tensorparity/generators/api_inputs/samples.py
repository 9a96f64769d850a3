"""Valid inputs that ship inside a library (``Goal.SAMPLES``), as cases by function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...core.call import ApiCall, argument_from_json
from ...core.case import Case
from ...core.outcome import Outcome
from ...core.procedure import Goal, Procedure
from .listing import ApiListing

_CALL = Procedure(goal=Goal.CALL)


def samples_case(listing: ApiListing, apis: Sequence[str] = ()) -> Case:
    """What asks a library for the inputs inside it; with names of functions for theirs alone, which is quicker."""
    names = [name for api in apis for name in (api, *listing.apis[api].aliases)]
    return Case(ApiCall(listing.library, (), {"of": names} if names else {}), Procedure(goal=Goal.SAMPLES))


def shipped_cases(outcome: Outcome, listing: ApiListing) -> dict[str, list[Case]]:
    """The calls by the name the function is listed under; what is not listed, or never called, is left out.

    What a library says that a call gives are its labels.
    """
    found: dict[str, list[Case]] = {}
    aliases = {alias: api.name for api in listing.apis.values() for alias in (api.name, *api.aliases)}
    for place, sample in enumerate(outcome.reply["samples"] if outcome.reply else ()):
        api = aliases.get(sample["of"])
        if api is not None and all(f"{place}/{name}" in outcome.outputs for name in sample["arrays"]):
            inputs = {name: outcome.outputs[f"{place}/{name}"] for name in sample["arrays"]}
            call = _by_listed_name(argument_from_json({"$call": sample["call"]}), api)
            expected = {name: outcome.outputs[f"{place}/={name}"] for name in sample.get("expected", ())}
            found.setdefault(api, []).append(Case(call, _CALL, inputs=inputs, labels=expected))
    return found


def _by_listed_name(call: ApiCall, listed: str) -> ApiCall:
    """The same function by another path, as ``torch.nn.functional.relu`` is ``torch.relu``: one has one finding."""
    same = call.api.rpartition(".")[-1] == listed.rpartition(".")[-1]
    return replace(call, api=listed) if same else call
