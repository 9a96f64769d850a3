"""Settings under which the same library may answer otherwise: oneDNN, the instruction set, the number of threads.

A setting is what a target is named with (``tensorflow:eager{TF_ENABLE_ONEDNN_OPTS=0}``): in capitals a variable of the
environment, else an option of the adapter (``threads``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .jsontext import Json

#: Instruction sets as oneDNN calls them, the smallest first, with the flag of the processor that each needs.
INSTRUCTION_SETS: Mapping[str, str] = {"SSE41": "sse4_1", "AVX2": "avx2", "AVX512_CORE": "avx512bw"}
#: What ATen calls them.
ATEN_NAMES: Mapping[str, str] = {"SSE41": "default", "AVX2": "avx2", "AVX512_CORE": "avx512"}
ISA_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "ONEDNN_MAX_CPU_ISA": {name: name for name in INSTRUCTION_SETS},
    "ATEN_CPU_CAPABILITY": ATEN_NAMES,
}
#: What pins every thread pool that a library may own.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "NPROC",  # XLA's CPU client sizes its pool by it
)
THREADS = "threads"
#: What turns oneDNN's kernels on and off.
ONEDNN_SWITCHES = ("TF_ENABLE_ONEDNN_OPTS", "onednn")


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """One setting."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"

    @property
    def instruction_set(self) -> str:
        """The one that it limits kernels to, as oneDNN calls it; empty where it limits none."""
        names = ISA_VARIABLES.get(self.name, {})
        return next((known for known, spelled in names.items() if spelled == self.value), "")


def instruction_set(flags: Iterable[str]) -> str:
    """The largest that a processor with these flags has; empty where it has none of ours."""
    found = set(flags)
    return next((name for name, flag in list(INSTRUCTION_SETS.items())[::-1] if flag in found), "")


def can_run(setting: Setting, available: str) -> bool:
    """Whether a processor can be limited by it, and is: its own instruction set is what it has without."""
    wanted, order = setting.instruction_set, list(INSTRUCTION_SETS)
    return not wanted or (available in order and order.index(wanted) < order.index(available))


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of trying a defect under several settings.

    Args:
        shown: by setting, whether it is seen; the plain run, in which it was found, is not among them.
        instruction_set: of the processor.
    """

    shown: Mapping[Setting, bool]
    instruction_set: str = ""

    @property
    def missing(self) -> tuple[Setting, ...]:
        """The settings under which it is not seen."""
        return tuple(sorted(setting for setting, seen in self.shown.items() if not seen))

    @property
    def always(self) -> bool:
        return not self.missing

    @property
    def needed(self) -> tuple[Setting, ...]:
        """What a script has to set so that it is seen whatever its surroundings set.

        Of each setting that matters, one value under which it was seen; of instruction sets the smallest, which most
        processors have.
        """
        return tuple(
            needed for name in dict.fromkeys(item.name for item in self.missing) if (needed := self._needed(name))
        )

    def _needed(self, name: str) -> Setting | None:
        seen = [setting for setting, found in self.shown.items() if setting.name == name and found]
        if name in ISA_VARIABLES and self.instruction_set:
            plain = Setting(name, ISA_VARIABLES[name][self.instruction_set])
            return min([*seen, plain], key=lambda setting: list(INSTRUCTION_SETS).index(setting.instruction_set))
        if name == THREADS:
            return Setting(THREADS, "1")
        if not seen and name in ONEDNN_SWITCHES:
            return self._other_state(name)
        return seen[0] if seen else None

    def _other_state(self, name: str) -> Setting | None:
        """A switch has two states: where one was tried and shows nothing, the plain run, which did, had the other."""
        tried = [setting.value for setting in self.shown if setting.name == name]
        return Setting(name, "0" if tried == ["1"] else "1") if len(tried) == 1 else None

    def to_json(self) -> Json:
        found: dict[str, Json] = {"shown": "always" if self.always else "only with some"}
        if not self.always:
            found |= {"needs": [str(item) for item in self.needed], "not_with": [str(item) for item in self.missing]}
        return {**found, "tried": [str(item) for item in self.shown]}


def variables_of(settings: Sequence[Setting]) -> dict[str, str]:
    """As variables of the environment, which a script sets before it imports a library."""
    found: dict[str, str] = {}
    for setting in settings:
        found |= (
            dict.fromkeys(THREAD_VARIABLES, setting.value) if setting.name == THREADS else {setting.name: setting.value}
        )
    return found
