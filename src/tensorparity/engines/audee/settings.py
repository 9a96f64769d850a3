"""What ``[engine.audee]`` says, and the paper's own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ...core.errors import UsageError
from ...core.jsontext import Json
from ...generators.search.genetic import LEVELS, SearchSettings

NET = "net"
INCONSISTENCY, NAN = "inconsistency", "nan"
GOALS = (INCONSISTENCY, NAN)
#: How long the paper searches one network; and more generations than fit into that.
_HALF_AN_HOUR, _ENDLESS = 1800.0, 1_000_000
#: The paper searches for NaN on inputs and weights together only.
NAN_LEVELS = ("input+weight",)
#: How far a search may go: anywhere, as in the paper, or where users are (``generators/search/bounds``).
ANYTHING, DATA = "anything", "data"


@dataclass(frozen=True)
class AudeeSettings:
    """How networks are mutated and searched.

    Args:
        variants: of every seed model.
        invalid: the share of them that has one value which its declaration refuses.
        levels: on which variants that do not fail are searched; none for network mutation alone.
        goals: what is searched for: other labels, NaN, or both.
        searched: how many variants of a seed model that did not fail are searched, for each pair or target.
        generations: of one search.
        search_seconds: of one search, as the targets work; None without a limit. What ends by it differs from machine
            to machine, and a run that is resumed ends as it did.
        inputs: of the data set, at most.
        repeats: searches of one network with other seeds (NaN only).
        first_failure: a search ends with its first failure; else its failures are collected.
        within: ``data`` keeps searches in the range of the data and near to the weights; ``anything`` is the paper's.
            What fails outside of that is only counted, either way.
        kept: how many individuals that failed are judged, of one search.
        watch: the layer whose distance or range is the fitness; by default the logits.
        search: the constants of Algorithm 1.
    """

    variants: int = 20
    invalid: float = 0.2
    levels: tuple[str, ...] = ("input", "weight")
    goals: tuple[str, ...] = (INCONSISTENCY,)
    searched: int = 1
    generations: int = 20
    search_seconds: float | None = None
    inputs: int = 10_000
    repeats: int = 1
    first_failure: bool = False
    within: str = ANYTHING
    kept: int = 3
    watch: str = ""
    search: SearchSettings = field(default_factory=SearchSettings)

    def __post_init__(self) -> None:
        for name, known in (("levels", LEVELS), ("goals", GOALS)):
            unknown = [value for value in getattr(self, name) if value not in known]
            if unknown:
                raise UsageError(f"unknown {name[:-1]} {unknown[0]!r}; known are {', '.join(known)}")
        if self.within not in (ANYTHING, DATA):
            raise UsageError(f"searches of audee stay within {DATA} or {ANYTHING}, not {self.within!r}")
        if self.variants < 0 or not 0.0 <= self.invalid <= 1.0:
            raise UsageError("audee wants a number of variants and the share of invalid ones")
        if self.search_seconds is not None and not self.search_seconds > 0:
            raise UsageError("audee wants a positive time for each search, or none")

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Json]) -> AudeeSettings:
        """From a section of a configuration file.

        Raises:
            UsageError: for a setting that there is not, or a value that it cannot have.
        """
        own = {item.name for item in fields(cls)} - {"search"}
        of_search = {item.name for item in fields(SearchSettings)}
        for name in settings:
            if name not in own | of_search:
                raise UsageError(f"audee has no setting {name!r}; known are {', '.join(sorted(own | of_search))}")
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
        }
        search = replace(SearchSettings(), **{name: given[name] for name in of_search & set(given)})
        return cls(**{name: given[name] for name in own & set(given)}, search=search)


def paper_settings(given: AudeeSettings) -> AudeeSettings:
    """Sections 3.2 and 3.4: 500 variants, 10,000 inputs; 20 that do not fail are searched, half an hour each or until
    the first failure, for NaN five times.
    """
    searches = {"searched": 20, "repeats": 5, "generations": _ENDLESS, "search_seconds": _HALF_AN_HOUR}
    return replace(given, variants=500, inputs=10_000, first_failure=True, **searches)  # type: ignore[arg-type]


#: All that may be set: of the engine, and of its search.
SETTING_NAMES = tuple(
    sorted(
        ({item.name for item in fields(AudeeSettings)} - {"search"}) | {item.name for item in fields(SearchSettings)}
    )
)
