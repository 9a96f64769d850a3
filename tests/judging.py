"""One case and what its targets did, judged by the oracle of its kind; nothing is run unless a runner is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tensorparity.core.case import Case, ModelFile
from tensorparity.core.engine import Ask
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Outcome
from tensorparity.core.suspicion import Suspicion
from tensorparity.oracles.kinds import CaseKind, kind_of, make_oracle, oracle_of
from tensorparity.targets.catalogue import traits_of

from .examining import claim_of


def oracle_name(case: Case) -> str:
    return "trained_layer" if kind_of(case) is CaseKind.NETWORK_STEP else oracle_of(case)


def judged(
    case: Case,
    outcomes: Mapping[str, Outcome],
    exporters: Mapping[str, str] | None = None,
    convicted: Sequence[str] = (),
) -> Judged:
    """What an oracle says at once, without any check."""
    ran = {target: _exported(case, (exporters or {}).get(target)) for target in outcomes}
    seen = Seen(case, (outcomes,), (ran,), traits_of(list(outcomes)), claim=claim_of(convicted))
    found = make_oracle(oracle_name(case), Setup(targets=tuple(outcomes), traits=seen.traits)).judge(seen)
    assert not found.checks, "this case needs a runner"
    return found


def judge(
    case: Case,
    outcomes: Mapping[str, Outcome],
    exporters: Mapping[str, str] | None = None,
    convicted: Sequence[str] = (),
) -> tuple[Suspicion | None, str]:
    """The first suspicion, or why there is none to be had; neither where all is well."""
    found = judged(case, outcomes, exporters, convicted)
    return (found.suspicions[0] if found.suspicions else None), found.undecided


def _exported(case: Case, exporter: str | None) -> Case:
    if exporter is None:
        return case
    return replace(case, subject=ModelFile("exported.onnx", "1" * 64, "onnx-export", exporter=exporter))


def ask(case: Case, targets: Sequence[str]) -> Ask:
    return Ask(case, tuple(targets), (oracle_name(case),))
