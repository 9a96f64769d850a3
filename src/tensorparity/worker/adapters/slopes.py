"""Gradients by slopes: what a library pulls back in float64, wherever differences to both sides bear it out."""

import numpy as np

from ..contract import Unsupported
from ..protocol import Bits
from .call_runs import cotangent

_MOST = 64
#: Steps in terms of the element, or of the largest one; the wider one tells whether the slope is one at all.
_STEP, _WIDER = 2.0**-26, 16.0
#: What differences in float64 are good for.
_RELATIVE, _OF_LARGEST, _NOISE = 1e-4, 1e-6, 2.0**-49
#: An element far below the largest one, or below one, is moved in terms of that, and none by less than this.
_FAR_BELOW, _LEAST = 1e-3, 1e-30
#: Beyond it neighbouring numbers are too far apart for what rounds or has a period.
_LARGEST = 1e6
#: A gradient is not held against steps in which it would have the results change by so many times what they are.
_BEYOND_RESULTS = 1e3


def by_slopes(ways, function, tensors):
    """Return (values, gradients by key) of a call on float64 tensors.

    A gradient that lies between the slopes to the left and to the right stays what it is; one that does not becomes
    the nearer slope. Where there is no slope (a jump, an edge of the domain), nothing can be said against it.
    """
    values, pulled = ways.pulled_back(lambda f, t: f(t), function, tensors, 1)
    arrays = {key: ways.to_numpy(tensor) for key, tensor in tensors.items()}
    found = {key: np.array(ways.to_numpy(gradient), np.float64) for key, gradient in pulled.items()}
    if sum(arrays[key].size for key in found) > _MOST:
        raise Unsupported("slopes of more than {} numbers".format(_MOST))
    if any(isinstance(arrays[key], Bits) or arrays[key].dtype != np.float64 for key in found):
        raise Unsupported("slopes are taken in float64")
    total = _Total(ways, function, tensors)
    for key, gradient in found.items():
        least = _least_move(arrays[key])
        flat = gradient.reshape(-1)
        slopes = [_both_slopes(total, key, arrays[key], place, least, flat[place]) for place in range(gradient.size)]
        noise = _NOISE * total.size(key, arrays[key]) / (_STEP * least)
        found[key] = _borne_out(gradient, slopes, noise)
    return values, found


def filled(pushed, pulled):
    """Return what was pushed forward, with what was pulled back in the place of what is no number.

    A direction of one element is zero in all others, and zero times infinity is none.
    """
    return {key: np.where(np.isfinite(array), array, pulled[key]) for key, array in pushed.items() if key in pulled}


class _Total(object):
    """The call's results, each pulled on with its weight, at other numbers."""

    def __init__(self, ways, function, tensors):
        self._ways, self._function, self._tensors = ways, function, tensors

    def __call__(self, key, array):
        given = dict(self._tensors, **{key: self._ways.to_tensor(array)})
        leaves = [self._ways.to_numpy(leaf) for leaf in self._ways.leaves(self._function(given))]
        if any(isinstance(leaf, Bits) or leaf.dtype.kind == "c" for leaf in leaves):
            raise Unsupported("slopes of complex numbers")
        found = [leaf for leaf in leaves if leaf.dtype.kind == "f"]
        if any(leaf.dtype != np.float64 for leaf in found):
            raise Unsupported("of float64 it makes fewer digits, which have no slopes")
        return found

    def size(self, key, array):
        """Return how large the results are: differences are no better than that size's last bits."""
        finite = [np.abs(np.where(np.isfinite(leaf), leaf, 0.0)).sum() for leaf in self(key, array)]
        return float(sum(finite))


def _least_move(array):
    finite = np.abs(array[np.isfinite(array)])
    scale = min(float(finite.max()), 1.0) if finite.size else 1.0
    return max(_FAR_BELOW * (scale or 1.0), _LEAST)


def _both_slopes(total, key, array, place, least, gradient):
    """Return (left, right), each at two steps; NaN where there is none."""
    x = array.reshape(-1)[place]
    if not abs(x) <= _LARGEST:
        return np.full((2, 2), np.nan)
    step = _STEP * max(abs(x), least)
    middle = total(key, array)
    found = np.zeros((2, 2))
    for side, sign in enumerate((-1.0, 1.0)):
        for wide, factor in enumerate((1.0, _WIDER)):
            moved = np.array(array)
            moved.reshape(-1)[place] = x + sign * factor * step
            exact = moved.reshape(-1)[place] - x
            after = total(key, moved)
            if exact and abs(gradient) < np.inf and abs(gradient * exact) > _reach(middle, after, exact):
                return np.full((2, 2), np.nan)  # what has a period goes through many of them in this step
            found[side, wide] = _weighed(middle, after) / exact if exact else np.nan
    return found


def _reach(before, after, step):
    """Return by how much, at the most, results of this size change in a step."""
    changed = [np.maximum(np.abs(a), np.abs(b))[a != b] for a, b in zip(before, after) if a.shape == b.shape]
    largest = max([float(sizes.max()) for sizes in changed if sizes.size] or [0.0])
    return _BEYOND_RESULTS * max(largest, abs(step))


def _weighed(before, after):
    if [leaf.shape for leaf in before] != [leaf.shape for leaf in after]:
        return np.nan
    with np.errstate(all="ignore"):
        return float(sum((cotangent(a.shape) * (b - a)).sum() for a, b in zip(before, after)))


def _borne_out(gradient, slopes, noise):
    flat = np.array(gradient).reshape(-1)
    known = np.array([pair for pair in slopes if np.isfinite(pair).all()]).reshape(-1)
    largest = float(np.abs(known).max()) if known.size else 0.0
    for place, pair in enumerate(slopes):
        slack = _RELATIVE * np.abs(pair).max() + _OF_LARGEST * largest + noise
        if not np.isfinite(pair).all() or (np.abs(pair[:, 0] - pair[:, 1]) > slack).any():
            continue
        low, high = pair[:, 0].min() - slack, pair[:, 0].max() + slack
        if not low <= flat[place] <= high:
            flat[place] = pair[:, 0].min() if flat[place] < low else pair[:, 0].max()
    return flat.reshape(np.shape(gradient))
