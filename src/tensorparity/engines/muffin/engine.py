"""Muffin: networks of layers, made from structure templates, and a training step of each on all targets.

A round is a handful of networks, and a few single cases of what networks seldom show.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar

from ...core.capabilities import can_train
from ...core.case import Case
from ...core.engine import Ask, Result, Standing
from ...core.errors import UsageError
from ...core.graph import LayerGraph
from ...core.jsontext import Json
from ...core.oracle import Setup
from ...core.policies import PLAIN
from ...core.procedure import Goal
from ...core.settings import check_settings, defaults_of
from ...core.verdict import Stage
from ...generators.networks.coverage import NetworkCoverage, Use
from ...generators.networks.networks import Network, NetworkGenerator, NetworkSettings
from ...generators.networks.palettes import DATA, PAPER
from ...generators.single_cases.streams import STREAMS, SingleCases
from ...operators.catalogue import layer
from ...oracles.step_facts import STEP, StepFacts
from .samples import samples_of
from .tables import NetworkTally

STAGES = (Stage.BUILD, Stage.FORWARD, Stage.LOSS, Stage.BACKWARD, Stage.UPDATE)
#: The paper and nothing else: its data sets in turn, its structures and its choice of layers, networks in training,
#: the stages of its three rules, float32, and no other cases beside.
PROTOCOLS: Mapping[str, Mapping[str, Json]] = {
    "": {},
    "paper": {
        "data": PAPER,
        "steered": False,
        "varied": False,
        "training": True,
        "policies": (PLAIN.name,),
        "stages": (Stage.BUILD.value, Stage.FORWARD.value, Stage.LOSS.value, Stage.BACKWARD.value),
        "single_cases": (),
        "only_trainable": False,
    },
}
#: Who judges a training step, unless the user chose somebody else.
_ORACLE = "training_step"
_ROUND = 8
_OF_NETWORKS = frozenset(name.name for name in fields(NetworkSettings)) - {"goal"}


def goal_of(stages: Sequence[Stage]) -> Goal:
    """How far a network has to be run for these stages."""
    if Stage.UPDATE in stages:
        return Goal.UPDATE
    return Goal.GRADIENTS if {Stage.LOSS, Stage.BACKWARD} & set(stages) else Goal.FORWARD


@dataclass(frozen=True)
class MuffinSettings:
    """What ``[engine.muffin]`` says.

    Args:
        networks: what networks are made of.
        stages: those of a training step that are judged; they say how far networks are run.
        single_cases: kinds of cases that are run beside networks (``single_cases.STREAMS``).
        only_trainable: networks are run by those targets that can train, where these are two or more.
        only_alone: targets that run the single cases only.
        protocol: ``paper`` stands for ``PROTOCOLS["paper"]``; what else is said goes before it.
    """

    networks: NetworkSettings = field(default_factory=NetworkSettings)
    stages: tuple[Stage, ...] = STAGES
    single_cases: tuple[str, ...] = tuple(STREAMS)
    only_trainable: bool = True
    only_alone: tuple[str, ...] = ()
    protocol: str = ""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Json]) -> MuffinSettings:
        """From a section of a configuration file.

        Raises:
            UsageError: for a setting that there is not, or a value that it cannot have.
        """
        check_settings(MuffinEngine, "engine muffin", settings)
        protocol = settings.get("protocol", "")
        if protocol not in PROTOCOLS:
            raise UsageError(f"unknown protocol {protocol!r}; known is {', '.join(filter(None, PROTOCOLS))}")
        given = {name: _hashable(value) for name, value in {**PROTOCOLS[protocol], **settings}.items()}
        try:
            stages = tuple(map(Stage, given.get("stages", STAGES)))
        except ValueError as error:
            raise UsageError(f"{error}; known are {', '.join(stage.value for stage in STAGES)}") from None
        networks = NetworkSettings(**{name: given[name] for name in _OF_NETWORKS & set(given)}, goal=goal_of(stages))
        rest = {name: given[name] for name in _OWN & set(given) - {"stages"}}
        return cls(networks, stages, **rest)._check()

    def _check(self) -> MuffinSettings:
        unknown = [name for name in self.single_cases if name not in STREAMS]
        if unknown:
            raise UsageError(f"unknown single cases {unknown[0]!r}; known are {', '.join(STREAMS)}")
        return self


def _hashable(value: Json) -> Json:
    return tuple(value) if isinstance(value, list) else value


_OWN = frozenset(name.name for name in fields(MuffinSettings)) - {"networks"}


class MuffinEngine:
    """What networks are depends on the seed and on those before them; coverage alone steers.

    A fitness of verdicts would have it revisit what is known to be wrong. Data sets give real samples where an
    installed package carries them, and shapes alone where none does.
    """

    settings: ClassVar[tuple[str, ...]] = (*sorted(_OWN), *sorted(_OF_NETWORKS))
    defaults: ClassVar[Mapping[str, object]] = defaults_of(MuffinSettings, NetworkSettings)

    name = "muffin"
    #: Enough that a check that takes long, and goes first, does not leave the others without work.
    ahead = 4

    def __init__(self, setup: Setup) -> None:
        self._settings = MuffinSettings.from_mapping(setup.settings)
        networks = self._settings.networks
        samples, self._samples = samples_of(networks.data or tuple(name for name, data in DATA.items() if data.share))
        self._generator = NetworkGenerator(setup.seed, networks, samples)
        self._singles = SingleCases(setup.seed, self._settings.single_cases, networks.layers)
        self._targets = self._steppers(setup)
        self._rounds: deque[dict[str, Network]] = deque()
        #: What was really run: networks are made ahead, and some run nowhere.
        self._covered = NetworkCoverage(networks.names(), policies=networks.policy_names())
        self._tally = NetworkTally(self._targets or setup.targets)

    def _steppers(self, setup: Setup) -> tuple[str, ...]:
        """The targets that can train; none, which means all, where networks are to be run by everybody."""
        asked = tuple(target for target in setup.targets if target not in self._settings.only_alone)
        able = tuple(target for target in asked if can_train(setup.traits[target]))
        if self._settings.only_trainable and len(able) > 1:
            return able
        return asked if 1 < len(asked) < len(setup.targets) else ()

    def ask(self) -> Sequence[Ask]:
        """The single cases first: a count cuts the stream behind a network, and they go with it."""
        networks = [self._generator.next() for _ in range(_ROUND)]
        self._rounds.append({network.case.digest: network for network in networks})
        steps = [Ask(network.case, self._targets, (_ORACLE,), part=network.data) for network in networks]
        return [*self._singles.round(), *steps]

    def tell(self, results: Sequence[Result]) -> None:
        """Count the networks of the round; of one that was cut short, those that were run."""
        networks = self._rounds.popleft()
        self._singles.tell(results)
        for result in results:
            network = networks.get(result.digest)
            if network is not None:
                self._count(network, result)

    def _count(self, network: Network, result: Result) -> None:
        facts = StepFacts.from_json(result.facts[STEP]) if STEP in result.facts else StepFacts()
        self._covered.add(_exercised_uses(network, facts))
        if facts.completed:
            self._covered.use_network(network.case)
        self._tally.add(facts, result.verdicts, network.data, len(network.layers), _nodes(network.case))

    def tables(self) -> Mapping[str, Json]:
        return {
            **self._tally.stats(),
            "coverage": self._covered.to_json(),
            "tables": self._tally.tables(),
            "samples": dict(self._samples),
            **self._singles.counts(),
        }

    def standing(self) -> Standing:
        """What was covered so far, of what there is."""
        covered = self._covered.to_json()
        shown = [f"{covered[what]['used']} of {covered[what]['declared']} {what}" for what in ("layers", "values")]
        return Standing(detail=", ".join(shown))


def _nodes(case: Case) -> int:
    assert isinstance(case.subject, LayerGraph)
    return len(case.subject.nodes)


def _exercised_uses(network: Network, facts: StepFacts) -> list[Use]:
    """What of a network was run: all of it, or, where every target failed, the layer that they failed of."""
    if facts.completed:
        return list(network.uses)
    guilty = {*facts.convicted, *(known.api for known in facts.known)}
    return [use for use in network.uses if layer(use.layer).api in guilty]
