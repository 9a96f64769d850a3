"""``equiv``: equivalence rules over the public functions of libraries."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..campaign.events import Listener, silent
from ..campaign.filing import target_facts
from ..campaign.sections import Sections
from ..core.errors import UsageError
from ..core.jsontext import Json
from ..core.oracle import Setup
from ..core.traits import TargetTraits
from ..core.verdict import Kind
from ..engines.eagle.engine import EagleEngine, targets_by_library
from ..engines.eagle.inputs import listings, questions
from ..engines.eagle.names import check_names
from ..engines.eagle.settings import COMPILED_BY_C, EagleSettings
from ..generators.api_inputs import ApiListing
from ..reporting import words
from ..reporting.facts import Facts
from ..targets.catalogue import TARGETS, traits_of
from ..targets.runner import open_runner, with_cache
from ..targets.selection import installed_target, named_targets
from .hunt import Hunted, HuntSettings, hunt

#: The technique of this command.
_ENGINE = EagleEngine.name


@dataclass(frozen=True)
class EquivSettings:
    """What ``equiv`` is told; ``run`` is what it has in common with other campaigns."""

    run: HuntSettings
    rules: Sequence[str] = ()
    apis: Sequence[str] = ()
    inputs: int = 400

    @property
    def is_quick(self) -> bool:
        """Whether some functions are looked at without a limit of time: what takes a compiler seconds is left out."""
        return bool(self.apis) and not self.rules and math.isinf(self.run.budget)

    def hunted(self) -> HuntSettings:
        """The campaign of one engine; the configuration and ``--set`` have the last word."""
        told: dict[str, Json] = {"rules": tuple(self.rules), "apis": tuple(self.apis), "inputs": self.inputs}
        if self.is_quick:
            told["dearest"] = COMPILED_BY_C - 1
        told |= self.run.sections.engine(_ENGINE)
        EagleSettings.from_mapping(told)
        sections = Sections({**self.run.sections.engines, _ENGINE: told}, self.run.sections.oracles)
        return replace(self.run, engines=(_ENGINE,), command="equiv", sections=sections)


def equiv(settings: EquivSettings, listener: Listener = silent) -> Hunted:
    """Run to the end and return what was found.

    Raises:
        UsageError: for unknown targets, rules or oracles.
        StoreError: if the store cannot be written.
    """
    done = hunt(settings.hunted(), listener)
    return replace(done, facts=_with_tables(done.facts))


def _with_tables(facts: Facts) -> Facts:
    """The engine's tables as the command's own."""
    tables = facts.stats.get("engine_tables", {}).get(_ENGINE, {})
    coverage = tables.get("coverage", {})
    apis = sum(own["tested"] for own in coverage.values())
    seconds = Counter[str]()
    for target, spent in facts.stats.get("worker_seconds", {}).items():
        seconds[traits_of([target])[target].calls] += spent
    timed = {
        library: {**own, "worker_seconds_per_pair": round(seconds[library] / own["pairs"], 3)}
        for library, own in tables.get("table_3", {}).items()
    }
    tables = {**tables, "table_3": timed, **_rq3(tables, facts)}
    left_out = tables.get("left_out", ())
    notes = (*facts.notes, words.dear_rules_left_out(left_out)) if left_out else facts.notes
    return replace(facts, stats={**facts.stats, "apis": apis, "equivalences": tables}, notes=notes)


def _rq3(tables: Mapping[str, Json], facts: Facts) -> dict[str, Json]:
    """Of the distinct defects, what an oracle for crashes would see, and whose functions no other library has."""
    defects = {finding.signature: finding for finding in facts.defects}
    others = tables.get("counterparts", {})
    deadly = [f for f in defects.values() if f.kind in (Kind.CRASH, Kind.HANG)]
    lonely = [f for f in defects.values() if not others.get(f.diagnosis.api or "")]
    known = len(tables.get("libraries", ())) > 1
    return {
        "defects": len(defects),
        "seen_by_crash_oracle": sorted({f.diagnosis.api or "" for f in deadly}),
        "no_counterpart": sorted({f.diagnosis.api or "" for f in lonely}) if known else None,
    }


def choose_libraries(text: str | None) -> list[str]:
    """Targets by name; the name of a library stands for all its flavours that are installed.

    Raises:
        UsageError: for an unknown one, or where nothing is installed.
    """
    wanted = [part.strip() for part in (text or "tensorflow,torch,jax,keras,onnx").split(",") if part.strip()]
    chosen: list[str] = []
    for name in wanted:
        flavours = [target for target in TARGETS.names() if name in _libraries_of(TARGETS.get(target).traits)]
        if flavours and name not in TARGETS:
            # what a flavour compiles is compiled by a rule, on the target that compiles nothing by itself
            plain = [target for target in flavours if not _has_plain_twin(target, flavours)]
            chosen += [target for target in plain if installed_target(target)]
        else:
            chosen += named_targets(name)
    if not chosen:
        raise UsageError(f"none of {', '.join(wanted)} is installed")
    return list(dict.fromkeys(chosen))


def _libraries_of(traits: TargetTraits) -> tuple[str, str]:
    """Whose front end it has, and whose functions it runs: several runtimes run ONNX's."""
    return traits.family, traits.calls


def _has_plain_twin(target: str, flavours: Sequence[str]) -> bool:
    own = TARGETS.get(target).traits
    others = [TARGETS.get(other).traits for other in flavours]
    return own.compiled and any(other.calls == own.calls and not other.compiled for other in others)


def list_equivalences(settings: EquivSettings) -> Facts:
    """What would be tested, per rule and function: libraries are asked what they offer, and nothing is run.

    Raises:
        UsageError: for unknown targets or rules.
    """
    began, hunted = time.monotonic(), settings.hunted()
    # what takes a compiler seconds speaks of a function, too, whether it is run by default or not
    eagle = replace(EagleSettings.from_mapping(hunted.sections.engine(_ENGINE)), dearest=COMPILED_BY_C)
    setup = Setup(hunted.seed, tuple(hunted.targets), traits_of(hunted.targets))
    asked = questions(targets_by_library(setup))
    with open_runner(hunted.targets, hunted.runner) as runner:
        outcomes = with_cache(runner, hunted.runner).run_pairs(asked)
        targets = target_facts(runner, hunted.targets, {outcome.target: outcome for outcome in outcomes})
    known = listings([outcome.reply for outcome in outcomes])
    apis = tuple(spoken_of(known, eagle))
    stats: dict[str, Json] = {"apis": len(apis), "seconds": time.monotonic() - began}
    return Facts("equiv", hunted.seed, targets, stats, apis=apis)


def spoken_of(known: Mapping[str, ApiListing], eagle: EagleSettings) -> Iterator[Json]:
    """Every function that some rule speaks of, by its name; what a rule makes itself is one of them."""
    rules = eagle.chosen()
    names = {api: library for library, listing in known.items() for api in listing.apis}
    for rule in rules:
        for library in known:
            own = rule.own_cases(library, eagle.configurations, 0) if library in rule.libraries() else []
            names.update({rule.about(case): library for case in own})
    check_names(eagle.apis, names, known.values())
    for api, library in sorted(names.items()):
        described = known[library].apis.get(api)
        found = [
            rule.name
            for rule in rules
            if library in rule.libraries() and rule.applies(api) and (described is None or rule.speaks_of(described))
        ]
        if found and eagle.wants(api):
            yield {"api": api, "library": library, "rules": found}
