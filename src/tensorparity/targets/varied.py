"""A Runner whose targets run under other settings and answer by their own names: the same case on another machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..core.case import Case
from ..core.machine_settings import Setting, can_run
from ..core.outcome import Outcome
from ..core.traits import Traits
from .environments import available_instruction_set
from .names import TargetName, parse_target
from .runner import LocalRunner, open_runner

#: By target, the setting that it runs under.
Round = Mapping[str, Setting]


def rounds_of(targets: Iterable[str], traits: Traits) -> Iterator[Round]:
    """What is tried together, one setting of each target at a time; what a user has set is left as it is."""
    available = available_instruction_set()
    own = {
        target: [
            s for s in traits[target].settings if can_run(s, available) and s.name not in parse_target(target).settings
        ]
        for target in targets
    }
    for number in range(max((len(settings) for settings in own.values()), default=0)):
        yield {target: settings[number] for target, settings in own.items() if number < len(settings)}


def _with_setting(target: str, setting: Setting | None) -> TargetName:
    name = parse_target(target)
    return replace(name, settings={**name.settings, setting.name: setting.value}) if setting else name


class VariedRunner:
    """Close it, or use it in a ``with``."""

    def __init__(self, plain: LocalRunner, round_: Round) -> None:
        self._names = {target: str(_with_setting(target, round_.get(target))) for target in plain.targets}
        planted = plain.settings.faults
        faults = {self._names[target]: fault for target, fault in planted.items() if target in self._names}
        self._runner = open_runner(self._names.values(), replace(plain.settings, faults=faults))

    def __enter__(self) -> VariedRunner:
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.close()

    @property
    def targets(self) -> Sequence[str]:
        return tuple(self._names)

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        """As the plain runner does; nothing here comes from a cache of outcomes."""
        named = [(case, self._names[target]) for case, target in pairs]
        outcomes = self._runner.run_pairs(named, fresh=fresh, deadline_factor=deadline_factor, on_outcome=on_outcome)
        return [replace(outcome, target=target) for outcome, (_, target) in zip(outcomes, pairs, strict=True)]
