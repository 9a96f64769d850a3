"""Ways to run a call that are alike in every library: element by element, row by row, on nothing, in NumPy.

Each takes (ways, function, tensors, kept). Whether a function works element by element or row by row is nowhere said
of it: a trial on tame numbers of the same shapes tells, and what fails it is ``Unsupported`` in that way.
"""

import numpy as np

from ..contract import Unsupported
from ..protocol import Bits

_MOST = 64
#: Lengths below those from which on vectors are worked on, and the ways that are tried on them.
_FEW, _IN_PIECES = (15, 7, 3), ("by element", "without axes")
#: How many tame numbers are put before and behind those that matter: more than a vector holds.
_BEFORE, _BEHIND = 5, 37


def by_element(ways, function, tensors, kept):
    """Every element alone, as a tensor of one."""
    return _by_trial("by element", _pieces((1,)), ways, function, tensors, kept)


def without_axes(ways, function, tensors, kept):
    """Every element alone, as a tensor without axes."""
    return _by_trial("without axes", _pieces(()), ways, function, tensors, kept)


def among_others(ways, function, tensors, kept):
    """All elements in a row, others around them."""
    return _by_trial("among others", _surrounded, ways, function, tensors, kept)


def row_by_row(ways, function, tensors, kept):
    """Every row of the first axis alone."""
    return _by_trial("row by row", _rows, ways, function, tensors, kept)


def of_nothing(ways, function, tensors, kept):
    """What is announced by running it on no rows: zeros of the form that all rows would have."""
    arrays = arrays_of(ways, tensors)
    cut = _tried("row by row", _rows, ways, function, arrays, kept)
    count = len(arrays[cut[0]])
    found = run(ways, function, dict(arrays, **{key: arrays[key][:0] for key in cut}))
    return [np.zeros((count + leaf.shape[0],) + leaf.shape[1:], leaf.dtype) for leaf in found]


def arrays_of(ways, tensors):
    """Return the tensors as arrays, by key."""
    found = {key: ways.to_numpy(tensor) for key, tensor in tensors.items()}
    if not found or any(isinstance(array, Bits) or array.dtype.kind not in "biufc" for array in found.values()):
        raise Unsupported("its tensors are not of NumPy's numbers")
    return found


def run(ways, function, arrays):
    """Return the leaves of a result as arrays."""
    tensors = {key: ways.to_tensor(np.ascontiguousarray(array).reshape(array.shape)) for key, array in arrays.items()}
    found = [ways.to_numpy(leaf) for leaf in ways.leaves(function(tensors))]
    if not found or any(isinstance(leaf, Bits) for leaf in found):
        raise Unsupported("its results are not of NumPy's numbers")
    return found


def _by_trial(name, way, ways, function, tensors, kept):
    arrays = arrays_of(ways, tensors)
    return way(ways, function, arrays, _tried(name, way, ways, function, arrays, kept))


def _tried(name, way, ways, function, arrays, kept):
    """Run the way on tame numbers, once for inputs of a form; what gives something else there works in another way.

    Returns which tensors are cut.
    """
    trials = kept.setdefault("trials", {})
    form = (name,) + tuple((array.shape, array.dtype.str) for array in arrays.values())
    if form not in trials:
        found = next((cut for cut in _cuts(arrays) if _agrees(way, ways, function, arrays, cut)), None)
        if found is None and name in _IN_PIECES and _is_long(arrays):
            found = _of_few(way, ways, function, arrays)
        trials[form] = found
    if trials[form] is None:
        raise Unsupported("it does not work {}".format(name))
    return trials[form]


def _is_long(arrays):
    return all(array.ndim == 1 and len(array) > max(_FEW) for array in arrays.values())


def _of_few(way, ways, function, arrays):
    """Try it on the first numbers alone: what is wrong from some length on would fail its trial, and is never held."""
    for count in _FEW:
        few = {key: array[:count] for key, array in arrays.items()}
        if not _agrees(way, ways, function, few, list(arrays)):
            return None
    return list(arrays)


def _agrees(way, ways, function, arrays, cut):
    first, second = [{key: tame(array, place + turn) for place, (key, array) in enumerate(arrays.items())}
                     for turn in (0, 3)]  # fmt: skip
    try:
        return all(alike(run(ways, function, given), way(ways, function, given, cut)) for given in (first, second))
    except Exception:
        return False


def alike(one, other):
    """Tell whether two lists of arrays are the same but for rounding."""
    return len(one) == len(other) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True) for a, b in zip(one, other)
    )


def _cuts(arrays):
    """Return which tensors may be cut along their first axis together: the first alone, or all of its length."""
    keys = list(arrays)
    first = arrays[keys[0]]
    if not first.ndim or not first.size >= 1 or len(first) > _MOST:
        return []
    same = [key for key in keys if arrays[key].ndim and len(arrays[key]) == len(first)]
    return [same, keys[:1]] if len(same) > 1 else [same]


def tame(array, turn):
    """Return numbers of the same shape and dtype that no function minds: between 0 and 1, or small and whole."""
    place = np.arange(array.size).reshape(array.shape)
    if array.dtype.kind == "b":
        return (place + turn) % 2 == 0
    if array.dtype.kind in "iu":
        return (1 + (place + turn) % 5).astype(array.dtype)
    return (0.15 + 0.7 * ((place * 7 + turn * 3) % 16) / 16.0).astype(array.dtype)


def _pieces(shape):
    def way(ways, function, arrays, cut):
        whole = _one_shape(arrays)
        found = []
        for place in range(next(iter(arrays.values())).size):
            given = {key: array.reshape(-1)[place : place + 1].reshape(shape) for key, array in arrays.items()}
            found.append(run(ways, function, given))
        if any(leaf.shape != shape for leaves in found for leaf in leaves):
            raise Unsupported("of one element it gives another number of them")
        return [np.concatenate([leaf.reshape(1) for leaf in leaves]).reshape(whole) for leaves in zip(*found)]

    return way


def _surrounded(ways, function, arrays, cut):
    whole = _one_shape(arrays)
    given = {}
    for turn, (key, array) in enumerate(arrays.items()):
        around = tame(np.zeros(_BEFORE + _BEHIND, array.dtype), turn)
        given[key] = np.concatenate([around[:_BEFORE], array.reshape(-1), around[_BEFORE:]])
    size = next(iter(arrays.values())).size
    found = run(ways, function, given)
    if any(leaf.shape != (size + _BEFORE + _BEHIND,) for leaf in found):
        raise Unsupported("it gives another number of elements than it takes")
    return [leaf[_BEFORE : _BEFORE + size].reshape(whole) for leaf in found]


def _rows(ways, function, arrays, cut):
    found = []
    for place in range(len(arrays[cut[0]])):
        found.append(run(ways, function, dict(arrays, **{key: arrays[key][place : place + 1] for key in cut})))
    if any(leaf.shape[:1] != (1,) for leaves in found for leaf in leaves):
        raise Unsupported("of one row it gives another number of them")
    return [np.concatenate(leaves) for leaves in zip(*found)]


def _one_shape(arrays):
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or not 1 <= next(iter(arrays.values())).size <= _MOST:
        raise Unsupported("its tensors are of several shapes, or of too many elements")
    return shapes.pop()
