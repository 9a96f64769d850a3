"""What models are fed with instead of arrays: data sets that Keras takes from other libraries and its own."""

from ...contract import Unsupported, import_library

#: How a variant names what is fed, behind anything else.
PREFIX = "fed "


def feed_of(variant):
    """Return by what a job wants its model fed; empty for arrays."""
    return variant.partition(PREFIX)[2]


def fed(kind, arrays, size):
    """Return a data set of arrays, or of structures of them, in batches of this size."""
    if kind not in _FEEDS:
        raise Unsupported("models are not fed with {!r}".format(kind))
    return _FEEDS[kind](arrays, size)


def _tf_data(arrays, size):
    tf = import_library("tensorflow")
    return tf.data.Dataset.from_tensor_slices(arrays).batch(size)


def _loader(arrays, size):
    torch = import_library("torch")
    import keras

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return _count(arrays)

        def __getitem__(self, place):
            return keras.tree.map_structure(lambda array: torch.as_tensor(array[place]), arrays)

    return torch.utils.data.DataLoader(Rows(), batch_size=size)


def _batches(arrays, size):
    import keras

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return -(-_count(arrays) // size)

        def __getitem__(self, place):
            return keras.tree.map_structure(lambda array: array[place * size : (place + 1) * size], arrays)

    return Batches()


def _generator(arrays, size):
    batches = _batches(arrays, size)
    return (batches[place] for place in range(len(batches)))


def _count(arrays):
    import keras

    return min(len(array) for array in keras.tree.flatten(arrays))


_FEEDS = {"tf.data": _tf_data, "DataLoader": _loader, "PyDataset": _batches, "generator": _generator}
