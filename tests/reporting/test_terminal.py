"""The terminal summary as a person sees it, at 80 columns and without colour."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from textwrap import dedent

import pytest
from rich.console import Console

from tensorparity.core.precision import HighPrecision, OutputDeviation
from tensorparity.reporting import terminal
from tensorparity.reporting.facts import Facts

Sample = Callable[[str], Facts]


def shown(facts: Facts, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    terminal.render(facts, Console(file=stream, width=width))
    stream.flush()
    return "\n".join(line.rstrip() for line in raw.getvalue().decode(encoding).splitlines())


def expect(facts: Facts, text: str) -> None:
    assert shown(facts) == dedent(text).strip("\n")


def test_all_pass(sample: Sample) -> None:
    expect(
        sample("all_pass"),
        """
        zoo:lenet5 is the same on keras:tensorflow, keras:jax and keras:torch.

                                                 largest     labels             class
        pair                            verdict  difference  changed  accuracy  (inputs)
        ────────────────────────────────────────────────────────────────────────────────
        keras:tensorflow / keras:jax    pass     1.2e-7      0/1000   98.9%     0
        keras:tensorflow / keras:torch  pass     1.2e-7      0/1000   98.9%     0
        keras:jax / keras:torch         pass     1.2e-7      0/1000   98.9%     0

        Data: 1,000 images of MNIST; weights as stored in the model.

        Took 12.4 s (start 6.1 s, run 3.2 s, localize 3.1 s); seed 0.
        """,
    )


def test_one_defect(sample: Sample) -> None:
    expect(
        sample("one_defect"),
        """
        keras:torch differs: layer conv2d_4 (Conv2D) is wrong there; the others agree.

                                   largest     labels              class     mad
        pair              verdict  difference  changed   accuracy  (inputs)  (inputs)
        ──────────────────────────────────────────────────────────────────────────────
        keras:tensorflow  fail     0.71        243/1000  98.9%     16 (212)  0.81 (33)
        keras:torch                                      76.4%
        keras:jax         fail     0.71        243/1000  98.9%     16 (212)  0.81 (33)
        keras:torch                                      76.4%
        keras:tensorflow  pass     1.2e-7      0/1000    98.9%     0         -
        keras:jax

        Defect 1: keras.layers.Conv2D with padding='same', strides=2 gives wrong numbers
        on keras:torch
          finding    7f3a: wrong (inconsistency), stage forward
          suspect    keras:torch
          where      layer conv2d_4 (Conv2D), keras.layers.Conv2D
          parameters padding='same', strides=2
          evidence   alone on identical inputs: e = 2.4e6 on keras:torch, 0.8 on
                     keras:tensorflow, 0.7 on keras:jax (K = 30)
          evidence   keras:tensorflow and keras:jax agree with the NumPy float64
                     reference
          evidence   failed again in 3 of 3 fresh processes
          case       findings/7f3a/case.zip
          script     findings/7f3a/reproducer.py

        Data: 1,000 images of MNIST; weights as stored in the model.

        Took 12.4 s (start 6.1 s, run 3.2 s, localize 3.1 s); seed 0.
        """,
    )


def test_undecided(sample: Sample) -> None:
    expect(
        sample("not_decided"),
        """
        It is not decided whether zoo:lenet5 is the same on keras:tensorflow, keras:jax
        and keras:torch.

        pair                            verdict
        ─────────────────────────────────────────
        keras:tensorflow / keras:jax    undecided
        keras:tensorflow / keras:torch  undecided

        Not decided: keras:tensorflow / keras:jax and keras:tensorflow / keras:torch
        (the output is random and no seed reaches it).
        Data: 1,000 images of MNIST; weights as stored in the model.

        Took 9.0 s (start 6.1 s, run 3.2 s, localize 3.1 s); seed 0.
        """,
    )


def test_crash_of_one_target(sample: Sample) -> None:
    expect(
        sample("crash"),
        """
        keras:torch crashes in layer conv2d_4 (Conv2D); the others agree.

                                               largest     labels             class
        pair                          verdict  difference  changed  accuracy  (inputs)
        ──────────────────────────────────────────────────────────────────────────────
        keras:tensorflow / keras:jax  pass     1.2e-7      0/1000   98.9%     0

        Defect 1: keras.layers.Conv2D kills the process on keras:torch
          finding    c0de: crash, stage forward
          suspect    keras:torch
          where      layer conv2d_4 (Conv2D), keras.layers.Conv2D
          evidence   killed by SIGSEGV in 3 of 3 fresh processes
          case       findings/c0de/case.zip
          script     findings/c0de/reproducer.py

        Crashed: keras:torch (RuntimeError: killed by SIGSEGV).
        Data: 1,000 images of MNIST; weights as stored in the model.

        Took 12.4 s (start 6.1 s, run 3.2 s, localize 3.1 s); seed 0.
        """,
    )


def test_hunt_with_no_findings(sample: Sample) -> None:
    expect(
        sample("hunt_none"),
        """
        No findings in 1,204 cases on keras:tensorflow, keras:jax and keras:torch.

        engine        cases  time        undecided
        ──────────────────────────────────────────
        muffin        1,000  40 min 0 s  41
        predoo        204    20 min 0 s  0

        Not decided: 40 cases (no reference for the layer and fewer than three
        implementations); 1 case (timed out once).

        Took 1 h 2 min; seed 7.
        """,
    )


def test_hunt_with_findings(sample: Sample) -> None:
    expect(
        sample("hunt_findings"),
        """
        17 findings, 5 sightings, 4 defects in 1,204 cases on keras:tensorflow,
        keras:jax and keras:torch.

        engine        cases  time        undecided
        ──────────────────────────────────────────
        muffin        1,000  40 min 0 s  41
        predoo        204    20 min 0 s  0

        class         number  meaning
        ─────────────────────────────────────────────────────────────────────────────
        defect        4       at least one target is wrong
        precision     11      rounding or an ill-conditioned case; no target is wrong
        flaky         1       failed in some repeats only; not counted as new

        Defect 1: keras.layers.Conv2D with padding='same', strides=2 gives wrong numbers
        on keras:torch
          finding    d0: wrong (inconsistency), stage forward
          suspect    keras:torch
          where      layer conv2d_4 (Conv2D), keras.layers.Conv2D
          parameters padding='same', strides=2
          evidence   alone on identical inputs: e = 2.4e6 on keras:torch, 0.8 on
                     keras:tensorflow, 0.7 on keras:jax (K = 30)
          evidence   keras:tensorflow and keras:jax agree with the NumPy float64
                     reference
          evidence   failed again in 3 of 3 fresh processes
          case       findings/d0/case.zip
          script     findings/d0/reproducer.py

        Defect 2: keras.layers.Conv2D with padding='same', strides=2 gives wrong numbers
        on keras:torch
          finding    d1: wrong (inconsistency), stage forward
          suspect    keras:torch
          where      layer conv2d_4 (Conv2D), keras.layers.Conv2D
          parameters padding='same', strides=2
          evidence   alone on identical inputs: e = 2.4e6 on keras:torch, 0.8 on
                     keras:tensorflow, 0.7 on keras:jax (K = 30)
          evidence   keras:tensorflow and keras:jax agree with the NumPy float64
                     reference
          evidence   failed again in 3 of 3 fresh processes
          case       findings/d1/case.zip
          script     findings/d1/reproducer.py

        Defect 3: keras.layers.Conv2D with padding='same', strides=2 gives wrong numbers
        on keras:torch
          finding    d2: wrong (inconsistency), stage forward
          suspect    keras:torch
          where      layer conv2d_4 (Conv2D), keras.layers.Conv2D
          parameters padding='same', strides=2
          evidence   alone on identical inputs: e = 2.4e6 on keras:torch, 0.8 on
                     keras:tensorflow, 0.7 on keras:jax (K = 30)
          evidence   keras:tensorflow and keras:jax agree with the NumPy float64
                     reference
          evidence   failed again in 3 of 3 fresh processes
          case       findings/d2/case.zip
          script     findings/d2/reproducer.py

        Defect 4: the gradient of keras.ops.logaddexp with x=Infinity gives NaN or
        infinity on every Keras backend
          finding    beef: nan, stage backward
          suspect    keras
          where      keras.ops.logaddexp
          parameters x=Infinity
          evidence   the gradient is NaN on all three targets; the reference says 1
          case       findings/beef/case.zip
          script     findings/beef/reproducer.py

        Not decided: 40 cases (no reference for the layer and fewer than three
        implementations); 1 case (timed out once).

        Took 1 h 2 min; seed 7.
        """,
    )


def test_targets(sample: Sample) -> None:
    expect(
        sample("installed"),
        """
        3 of 4 targets can run here.

        target            status     versions                  remark
        ────────────────────────────────────────────────────────────────────────────────
        keras:tensorflow  available  keras 3.11.0, tensorflow
                                     2.19.0
        keras:jax         available  keras 3.11.0, jax 0.6.2
        keras:torch       available  keras 3.11.0, torch
                                     2.7.1
        onnxruntime       missing                              onnxruntime is not
                                                               installed; pip install
                                                               onnxruntime
        """,
    )


def test_doctor(sample: Sample) -> None:
    expect(
        sample("sick"),
        """
        keras:torch does not work.

        target            status     versions                     remark
        ────────────────────────────────────────────────────────────────────────────────
        keras:tensorflow  available  keras 3.11.0, tensorflow
                                     2.19.0
        keras:torch       broken                                  ImportError: libc10.so
        """,
    )


def test_replay(sample: Sample) -> None:
    expect(
        sample("replayed"),
        """
        findings/7f3a/case.zip still fails. keras:torch differs: layer conv2d_4 (Conv2D)
        is wrong there.

        Defect 1: keras.layers.Conv2D with padding='same', strides=2 gives wrong numbers
        on keras:torch
          finding    7f3a: wrong (inconsistency), stage forward
          suspect    keras:torch
          where      layer conv2d_4 (Conv2D), keras.layers.Conv2D
          parameters padding='same', strides=2
          evidence   alone on identical inputs: e = 2.4e6 on keras:torch, 0.8 on
                     keras:tensorflow, 0.7 on keras:jax (K = 30)
          evidence   keras:tensorflow and keras:jax agree with the NumPy float64
                     reference
          evidence   failed again in 3 of 3 fresh processes
          case       findings/7f3a/case.zip
          script     findings/7f3a/reproducer.py

        Took 2.0 s; seed 0.
        """,
    )


def test_no_page_is_wider_than_the_console_or_coloured(any_facts: Facts) -> None:
    text = shown(any_facts)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text


def test_no_stack_trace_is_shown(any_facts: Facts) -> None:
    assert "Traceback" not in shown(any_facts)


def test_markup_and_control_characters_in_names_are_shown_not_obeyed(sample: Sample) -> None:
    text = shown(sample("hostile"), width=400)
    assert r"[red]&amp;\u2028\x1b[31m" in text


@pytest.mark.parametrize("width", [40, 200])
def test_other_widths(sample: Sample, width: int) -> None:
    text = shown(sample("one_defect"), width=width)
    assert max(len(line) for line in text.splitlines()) <= width


def test_an_ascii_console_gets_ascii(sample: Sample) -> None:
    text = shown(replace(sample("one_defect"), notes=("weights: naïve",)), encoding="ascii")
    assert r"na\xefve" in text


def test_a_long_list_of_pairs_is_cut_after_the_urgent_ones(sample: Sample) -> None:
    facts = sample("one_defect")
    assert facts.comparisons is not None
    good, bad, _ = facts.comparisons
    text = shown(replace(facts, comparisons=(*[good] * 30, bad)))
    assert "... and 19 more pairs" in text
    assert text.index("fail") < text.index("pass")


def test_several_outputs_are_named(sample: Sample) -> None:
    facts = sample("all_pass")
    assert facts.comparisons is not None
    other = replace(facts.comparisons[0], output="second_head")
    assert "second_head" in shown(replace(facts, comparisons=(*facts.comparisons, other)))


CACHE = "past_key_values.cross_attention_cache.layers.{}.values"


def test_long_names_of_outputs_cost_no_figure(sample: Sample) -> None:
    facts = sample("all_pass")
    pairs = [
        replace(pair, output=CACHE.format(k), max_abs=1.25e-7) for k in range(3) for pair in facts.comparisons or ()
    ]
    text = shown(replace(facts, comparisons=tuple(pairs)))
    assert text.count("1.2e-7") == len(pairs)
    assert text.count("0/1000") == len(pairs)
    assert "…" not in text


def test_of_many_outputs_in_float64_the_worst_are_shown_and_the_rest_is_counted(sample: Sample) -> None:
    errors = [*(OutputDeviation("onnxruntime", CACHE.format(k), k * 1e-7, k * 1e-7, None) for k in range(40))]
    broken = OutputDeviation("onnxruntime", "logits", float("nan"), float("nan"), None)
    facts = replace(sample("all_pass"), high_precision=HighPrecision("torch:eager", (0,), (*errors, broken)))
    text = shown(facts)
    assert "... and 29 more outputs: --format html or json has all" in text
    rows = text[text.index("against float64") :].splitlines()
    assert rows[3].startswith("onnxruntime, logits"), "what is no number comes first"
    assert "3.9e-6" in text
    assert "2.8e-6" not in text
