"""The table of passes, in the order in which they are run: what removes most comes first."""

from __future__ import annotations

from .calls import reset_arguments, shrink_call
from .dtypes import simplify_dtypes
from .files import smallest_batch
from .identity import replace_by_identity
from .nodes import drop_nodes
from .operators import shrink_operator
from .parameters import reset_parameters
from .reducer import Pass
from .shapes import shrink_shapes
from .texts import shorten_texts
from .training import shrink_training
from .values import simplify_values
from .worst import keep_worst

PASSES: tuple[tuple[str, Pass], ...] = (
    ("drop nodes", drop_nodes),
    ("replace by Identity", replace_by_identity),
    ("shrink training", shrink_training),
    ("reset parameters", reset_parameters),
    ("reset arguments", reset_arguments),
    ("keep the worst number", keep_worst),
    ("shrink shapes", shrink_shapes),
    ("shrink call", shrink_call),
    ("shrink operator", shrink_operator),
    ("shorten texts", shorten_texts),
    ("smallest batch", smallest_batch),
    ("simplify dtypes", simplify_dtypes),
    ("simplify values", simplify_values),
)
