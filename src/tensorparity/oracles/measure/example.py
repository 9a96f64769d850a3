"""The example at the two ends of a localization map: one input, both predictions, the label."""

from __future__ import annotations

import base64

import numpy as np

from ...core.arrays import Array, Arrays, dtype_name
from ...core.channels import is_text
from ...core.comparison import Example, ExampleInput, Picture, Prediction
from .distances import as_classes, class_labels

#: Pixels of a picture's longer side.
_SIDE = 48
#: Entries of a prediction that are kept.
_MOST = 5


def build_example(inputs: Arrays, index: int, a: Array, b: Array, labels: Array | None = None) -> Example:
    """The instance ``index`` of the inputs, and what the two sides gave for it.

    Args:
        a: one side's output for all instances, ``b`` the other's.
        labels: of all instances, for this output; None where they are not known.
    """
    confidences = as_classes(np.atleast_1d(a)[index : index + 1])
    classes = confidences is not None and (a.shape[1] > 1 or _class_label(labels, index, 2) is not None)
    count = confidences.shape[1] if confidences is not None else 0
    return Example(
        index=index,
        inputs=tuple(_input(name, np.asarray(array[index])) for name, array in inputs.items()),
        label=_label(labels, index, count if classes else 0),
        classes=classes,
        a=_prediction(a, index, classes),
        b=_prediction(b, index, classes),
    )


def _class_label(labels: Array | None, index: int, classes: int) -> int | None:
    if labels is None:
        return None
    found = class_labels(labels[index : index + 1], classes)
    return None if found is None else int(found[0])


def _label(labels: Array | None, index: int, classes: int) -> str:
    if labels is None:
        return ""
    label = _class_label(labels, index, classes) if classes else None
    if label is not None:
        return str(label)
    values = np.asarray(labels[index]).reshape(-1)
    form = "{}" if is_text(values) else "{:.4g}"
    return ", ".join(form.format(value) for value in values[:_MOST].tolist()) + (", …" if values.size > _MOST else "")


def _prediction(output: Array, index: int, classes: bool) -> Prediction:
    row = np.atleast_1d(output)[index : index + 1]
    if is_text(row):
        return ()
    if not classes:
        values = np.real(row).reshape(-1)[:_MOST].astype(np.float64)
        return tuple(enumerate(values.tolist()))
    confidences = as_classes(row)
    assert confidences is not None
    values = confidences[0].astype(np.float64)
    order = np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")[:_MOST]
    return tuple((int(place), float(values[place])) for place in order)


def _input(name: str, array: Array) -> ExampleInput:
    described = ExampleInput(name, tuple(array.shape), dtype_name(array))
    if array.dtype.kind in "USOc":
        return described
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return described
    low, high = float(finite.min()), float(finite.max())
    return ExampleInput(name, described.shape, described.dtype, low, high, _picture(values, low, high))


def _picture(values: Array, low: float, high: float) -> Picture | None:
    """Values stretched over the range of grey, or of each colour; None for what no eye would take for an image."""
    image = _as_image(values)
    if image is None:
        return None
    step = -(-max(image.shape[:2]) // _SIDE)
    image = np.nan_to_num(image[::step, ::step], nan=low, posinf=high, neginf=low)
    spread = (high - low) or 1.0
    pixels = np.clip(255.0 * (image - low) / spread, 0, 255).astype(np.uint8)
    rgb = np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))
    return Picture(rgb.shape[1], rgb.shape[0], base64.b64encode(rgb.tobytes()).decode("ascii"))


def _as_image(values: Array) -> Array | None:
    """Height, width and one or three channels, whichever end the channels are at."""
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3:
        return None
    if values.shape[2] not in (1, 3, 4) and values.shape[0] in (1, 3, 4):
        values = np.moveaxis(values, 0, 2)
    height, width, channels = values.shape
    if channels not in (1, 3, 4) or min(height, width) < 4 or max(height, width) > 32 * min(height, width):
        return None
    return values[:, :, :3] if channels == 4 else values
