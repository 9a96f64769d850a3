"""What shows only where calls are compiled together: the calls of one unit as one case, and as small as it goes.

Calls that are compiled travel in packs. What is convicted there and not alone may be a defect of the compiler, which
fused what it should not have, or shared a buffer; the pack is then a program of its own that a user could write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core.arrays import Array
from ..core.call import SEVERAL, ApiCall, ArrayArg, TupleArg
from ..core.case import Case
from ..core.evidence import observed
from ..core.rule import with_counterpart
from ..core.runner import Runner
from ..core.suspicion import Suspicion

#: Said of what shows in a unit and not alone.
ONLY_TOGETHER = observed("only-together")


def companions_of(runner: Runner, suspicion: Suspicion) -> tuple[Case, ...]:
    """The calls that the compiled side was compiled with, its own first; none where it went alone."""
    ask = getattr(runner, "companions", None)
    case = suspicion.case
    if ask is None or case.counterpart is None or not isinstance(case.subject, ApiCall):
        return ()
    own = case.sides()[1]
    pack = next((found for target in suspicion.targets if (found := ask(own, target))), ())
    return (own, *(other for other in pack if other.digest != own.digest)) if len(pack) > 1 else ()


def programs_of(suspicion: Suspicion, pack: Sequence[Case]) -> list[Case]:
    """Programs that may show it, the smallest first: the call with one of the others, and with all of them."""
    if not pack:
        return []
    own, *others = pack
    found = [_program(suspicion.case, [own, other]) for other in others]
    whole = [_program(suspicion.case, pack)] if len(others) > 1 else []
    return [case for case in (*found, *whole) if case is not None]


def _program(case: Case, members: Sequence[Case]) -> Case | None:
    """The tuple of all members as one call, with both sides by the rule of the case."""
    calls: list[ApiCall] = []
    inputs: dict[str, Array] = {}
    for place, member in enumerate(members):
        assert isinstance(member.subject, ApiCall)
        calls.append(_renamed(member.subject, f"c{place}_"))
        inputs.update({f"c{place}_{name}": array for name, array in member.inputs.items()})
    return with_counterpart(replace(case, subject=ApiCall(SEVERAL, tuple(calls)), inputs=inputs))


def _renamed(value: Any, start: str) -> Any:
    """A call whose arrays have other names."""
    if isinstance(value, ArrayArg):
        return ArrayArg(start + value.name)
    if isinstance(value, ApiCall):
        named = {key: _renamed(item, start) for key, item in value.kwargs.items()}
        return ApiCall(value.api, tuple(_renamed(item, start) for item in value.args), named)
    if isinstance(value, TupleArg):
        return TupleArg(tuple(_renamed(item, start) for item in value.items))
    if isinstance(value, (list, tuple)):
        return tuple(_renamed(item, start) for item in value)
    if isinstance(value, Mapping):
        return {key: _renamed(item, start) for key, item in value.items()}
    return value


def only_together(suspicion: Suspicion) -> Suspicion:
    """A suspicion of such a program, which says what it is."""
    diagnosis = suspicion.diagnosis
    return replace(suspicion, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, ONLY_TOGETHER), fused=True))
