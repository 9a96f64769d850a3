"""Evidence: what was observed, as a code with its data. The words for it are made in ``reporting/words``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .jsontext import Json

#: The code of evidence that is nothing but words: of a plug-in, or from an old store.
WORDS = "words"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation.

    Args:
        code: which kind of observation; ``reporting/words`` has a sentence for each.
        data: what the sentence needs, as JSON.
        text: the sentence itself: where nobody knows the code, and once it is filed.
    """

    code: str
    data: Mapping[str, Json] = field(default_factory=dict)
    text: str = ""

    def __str__(self) -> str:
        """The sentence; without one, what was observed as it is."""
        return self.text or " ".join([self.code, *(f"{name}={value!r}" for name, value in self.data.items())])

    def to_json(self) -> Json:
        """Without the sentence, which stands among the others of a finding's ``evidence``."""
        return {"code": self.code, "data": dict(self.data)}

    @classmethod
    def from_json(cls, data: Json, text: str = "") -> Evidence:
        return cls(data["code"], data["data"], text)


def in_words(text: str) -> Evidence:
    """Evidence that is a sentence: of a plug-in, or from an old store."""
    return Evidence(WORDS, text=text)


def observed(code: str, **data: Json) -> Evidence:
    """Evidence of a kind that ``reporting/words`` has a sentence for."""
    return Evidence(code, data)
