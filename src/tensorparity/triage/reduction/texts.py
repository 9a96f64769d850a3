"""Calls on strings: one row, shorter strings, fewer tokens in a vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...core.arrays import Array
from ...core.case import ApiCall, Case
from ...core.channels import is_text
from ...core.rule import is_fixed
from .reducer import Attempts

#: Rows, parts of a string and tokens that are tried side by side.
_MOST = 16
_ROUNDS = 8
_VOCABULARY, _WEIGHTS = "vocabulary", "idf_weights"


def shorten_texts(attempts: Attempts) -> None:
    """What is wrong with many strings is mostly wrong with a part of one."""
    call, inputs = attempts.case.subject, attempts.case.inputs
    if not isinstance(call, ApiCall) or is_fixed(attempts.case):
        return
    for name in [name for name, array in inputs.items() if is_text(array)]:
        attempts.first(_single_rows(attempts.case, name))
        for _ in range(_ROUNDS):
            if not attempts.first(_shorter(attempts.case, name)):
                break
    if _VOCABULARY in call.kwargs:
        for _ in range(_ROUNDS):
            if not attempts.first(_fewer_tokens(attempts.case)):
                break


def _single_rows(case: Case, name: str) -> Iterator[Case]:
    array = case.inputs[name]
    for row in range(min(len(array), _MOST) if array.ndim else 0):
        yield _with(case, name, array[row : row + 1].copy())


def _shorter(case: Case, name: str) -> Iterator[Case]:
    """The longest string as one of its words, or without one of its halves."""
    array = case.inputs[name]
    texts = [str(text) for text in array.ravel()]
    longest = max(range(len(texts)), key=lambda place: len(texts[place]), default=None)
    if longest is None:
        return
    text = texts[longest]
    middle = len(text) // 2
    parts = dict.fromkeys(["", *text.split(), text[:middle], text[middle:], *text])
    for part in list(parts)[:_MOST]:
        changed = array.copy()
        changed.reshape(-1)[longest] = part
        yield _with(case, name, changed)


def _fewer_tokens(case: Case) -> Iterator[Case]:
    """The vocabulary without one of its tokens, and without that one's weight."""
    call = case.subject
    assert isinstance(call, ApiCall)
    tokens, weights = list(call.kwargs[_VOCABULARY]), call.kwargs.get(_WEIGHTS)
    for place in range(min(len(tokens), _MOST) if len(tokens) > 1 else 0):
        kwargs = {**call.kwargs, _VOCABULARY: (*tokens[:place], *tokens[place + 1 :])}
        if weights is not None:
            kwargs[_WEIGHTS] = (*weights[:place], *weights[place + 1 :])
        yield replace(case, subject=replace(call, kwargs=kwargs))


def _with(case: Case, name: str, array: Array) -> Case:
    return replace(case, inputs={**case.inputs, name: array})
