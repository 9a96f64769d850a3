"""An accusation shows what the suspect gave around its worst number; reduction keeps the larger picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorparity.core.finding import Class
from tensorparity.core.graph import Node
from tensorparity.operators.spec import Evaluation
from tensorparity.oracles.measure.diagnose import accusation_of
from tensorparity.oracles.measure.isolated_nodes import measure_outputs
from tensorparity.triage.reduction.preparation import _larger

TRUTH = np.arange(20.0).reshape(4, 5)


def test_the_suspect_is_shown_beside_the_reference() -> None:
    wrong = TRUTH.astype(np.float32)
    wrong[2, 3] += 1
    answers = {"torch:eager": [TRUTH.astype(np.float32)], "keras:torch": [wrong]}
    errors = measure_outputs(Node("a", "ReLU", ()), answers, [Evaluation(TRUTH, np.zeros_like(TRUTH))])
    found = accusation_of(Class.DEFECT, ("keras:torch",), [errors]).diagnosis.closeup
    assert found is not None
    assert (found.target, found.against, found.index) == ("keras:torch", "reference", (2, 3))
    assert found.apart[2][3] == 1
    assert found.right[2] == tuple(TRUTH[2])
    voted = accusation_of(Class.DEFECT, ("keras:torch",), [replace(errors, judged_by="vote")]).diagnosis.closeup
    assert voted is not None
    assert voted.against == "vote"
    small = replace(found, given=((1.0, 2.0),), right=((1.0, 2.0),), apart=((0.0, 0.0),))
    assert _larger(found, small) is found
    assert _larger(None, small) is small
    assert _larger(None, None) is None
