"""Which settings can be tried on a processor, and what a defect that is seen with some of them needs."""

from __future__ import annotations

import pytest

from tensorparity.core.machine_settings import (
    THREAD_VARIABLES,
    Setting,
    Tried,
    can_run,
    instruction_set,
    variables_of,
)

ONEDNN_OFF, ONEDNN_ON = (Setting("TF_ENABLE_ONEDNN_OPTS", value) for value in "01")
SSE, AVX2 = (Setting("ONEDNN_MAX_CPU_ISA", value) for value in ("SSE41", "AVX2"))
SCALAR = Setting("ATEN_CPU_CAPABILITY", "default")
TWO = Setting("threads", "2")


def test_the_instruction_set_of_a_processor() -> None:
    assert instruction_set(["fpu", "sse4_1", "avx2"]) == "AVX2"
    assert instruction_set(["sse4_1", "avx2", "avx512f", "avx512bw"]) == "AVX512_CORE"
    assert instruction_set(["sse2"]) == ""


@pytest.mark.parametrize(
    ("setting", "available", "possible"),
    [
        (ONEDNN_OFF, "", True),
        (TWO, "", True),
        (SSE, "AVX2", True),
        (AVX2, "AVX2", False),  # what it has without
        (AVX2, "AVX512_CORE", True),
        (SCALAR, "AVX2", True),
        (SCALAR, "SSE41", False),
        (SSE, "", False),
    ],
)
def test_no_processor_is_limited_to_what_it_has(setting: Setting, available: str, possible: bool) -> None:
    assert can_run(setting, available) is possible


def test_seen_always() -> None:
    tried = Tried({ONEDNN_OFF: True, TWO: True}, "AVX2")
    assert tried.always
    assert tried.needed == ()
    assert tried.to_json() == {"shown": "always", "tried": ["TF_ENABLE_ONEDNN_OPTS=0", "threads=2"]}


def test_what_a_script_needs_is_what_it_was_seen_with() -> None:
    tried = Tried({ONEDNN_OFF: False, ONEDNN_ON: True, SSE: False, SCALAR: False, TWO: False}, "AVX2")
    needed = {setting.name: setting.value for setting in tried.needed}
    assert needed == {
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "threads": "1",
    }
    found = tried.to_json()
    assert found["shown"] == "only with some"
    assert found["not_with"] == sorted(map(str, (ONEDNN_OFF, SSE, SCALAR, TWO)))


def test_of_instruction_sets_the_smallest_is_enough() -> None:
    """It is seen with AVX2 and with what the processor has, AVX-512: more processors have AVX2."""
    wide = Setting("ATEN_CPU_CAPABILITY", "avx2")
    assert Tried({SCALAR: False, wide: True}, "AVX512_CORE").needed == (wide,)
    assert Tried({SCALAR: False, wide: False}, "AVX512_CORE").needed == (Setting("ATEN_CPU_CAPABILITY", "avx512"),)


def test_a_setting_with_one_value_that_hides_it_needs_nothing_that_was_not_seen() -> None:
    assert Tried({ONEDNN_OFF: False, ONEDNN_ON: False}, "AVX2").needed == ()


@pytest.mark.parametrize(("tried", "needed"), [(ONEDNN_OFF, ONEDNN_ON), (ONEDNN_ON, ONEDNN_OFF)])
def test_a_switch_that_was_tried_in_one_state_needs_the_other(tried: Setting, needed: Setting) -> None:
    assert Tried({tried: False}, "AVX2").needed == (needed,)
    assert Tried({SSE: False}).needed == (), "of what has many values, none follows"


def test_threads_are_set_for_every_library() -> None:
    found = variables_of([Setting("threads", "1"), SCALAR])
    assert found == {**dict.fromkeys(THREAD_VARIABLES, "1"), "ATEN_CPU_CAPABILITY": "default"}
