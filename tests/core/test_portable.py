"""Powers and logarithms for drawing numbers: right, and the same on every machine."""

from __future__ import annotations

import hashlib

import numpy as np

from tensorparity.core.portable import exp2, exp10, log2

POINTS = np.linspace(-30.0, 30.0, 4001)


def test_they_are_right_to_a_few_units() -> None:
    np.testing.assert_allclose(exp2(POINTS), np.exp2(POINTS), rtol=1e-15)
    np.testing.assert_allclose(exp10(POINTS), 10.0**POINTS, rtol=3e-14)
    positive = np.exp2(POINTS)
    np.testing.assert_allclose(log2(positive), POINTS, rtol=1e-14, atol=1e-14)


def test_whole_powers_are_exact() -> None:
    whole = np.arange(-1000.0, 1000.0)
    assert (exp2(whole) == np.ldexp(1.0, whole.astype(int))).all()
    assert (log2(np.ldexp(1.0, whole.astype(int))) == whole).all()


def test_the_bits_are_those_of_every_other_machine() -> None:
    bits = np.concatenate([exp2(POINTS), exp10(POINTS / 10), log2(np.arange(1.0, 4000.0))]).tobytes()
    assert hashlib.sha256(bits).hexdigest()[:16] == "df1388cea99c2052"
