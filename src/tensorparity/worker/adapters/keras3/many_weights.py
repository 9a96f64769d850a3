"""A Keras model on TensorFlow as a function of many vectors of weights.

TensorFlow takes them one after another inside of one graph: as many calls from Python cost several times what a small
model does. A vector holds all arrays, for an array is dear to hand over.
"""

import numpy as np

from .program import unwatched


class ManyWeights(object):
    """Runs one model on the weights of several individuals; traced once for the arrays that they have."""

    def __init__(self, program):
        self.program = program
        self._traced = {}

    def __call__(self, group, inputs):
        """Return the outputs, a row per individual; of inputs there is one for each of them, or one for all."""
        import tensorflow as tf

        names = tuple(group[0])
        if names not in self._traced:
            self._traced[names] = tf.function(_of_one_vector(self.program, names))
        single = self._traced[names]
        if len(group) == 1:
            return single(tf.constant(group[0].vector), _tensors(inputs))
        vectors = tf.constant(np.stack([weights.vector for weights in group]))
        rows = _tensors({name: _for_each(array, len(group)) for name, array in inputs.items()})
        if (names, "every") not in self._traced:
            self._traced[names, "every"] = _compiled_for_any_count(_one_after_another(single), vectors, rows)
        return {name: _flat(tensor) for name, tensor in self._traced[names, "every"](vectors, rows).items()}


def _compiled_for_any_count(every, vectors, rows):
    """Another number of individuals is no reason to trace the model again, which takes longer than running it."""
    import tensorflow as tf

    def loose(tensor):
        return tf.TensorSpec([None] + tensor.shape[1:].as_list(), tensor.dtype)

    return tf.function(every).get_concrete_function(
        loose(vectors), {name: loose(tensor) for name, tensor in rows.items()}
    )


def _of_one_vector(program, names):
    import keras
    import tensorflow as tf

    variables = program.weights()
    shapes = [tuple(variables[name].shape) for name in names]
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape in shapes]

    def run(vector, tensors):
        parts = tf.split(vector, sizes) if names else []
        state = [(variables[n], tf.reshape(part, s)) for n, part, s in zip(names, parts, shapes)]
        with keras.StatelessScope(state_mapping=state):
            return program.run(tensors, False, unwatched)

    return run


def _one_after_another(single):
    import tensorflow as tf

    def row(pair):
        vector, own = pair
        return single(vector, {name: tensor[tf.newaxis] for name, tensor in own.items()})

    def every(vectors, inputs):
        specs = {name: tf.TensorSpec((1,) + tuple(t.shape[1:]), t.dtype) for name, t in inputs.items()}
        traced = single.get_concrete_function(tf.TensorSpec(vectors.shape[1:], vectors.dtype), specs)
        dtypes = {name: tensor.dtype for name, tensor in traced.structured_outputs.items()}
        return tf.map_fn(row, (vectors, inputs), fn_output_signature=dtypes, parallel_iterations=1)

    return every


def _tensors(inputs):
    import tensorflow as tf

    return {name: tf.constant(array) for name, array in inputs.items()}


def _for_each(array, count):
    return array if len(array) == count else np.repeat(array, count, axis=0)


def _flat(tensor):
    """Batches of one as one batch."""
    import tensorflow as tf

    return tf.reshape(tensor, (-1,) + tuple(tensor.shape[2:])) if tensor.shape.rank > 1 else tensor
