"""Keras on TensorFlow: one tape that has seen every node's output."""

import contextlib
import logging

from ...contract import import_library
from .base import KerasAdapter, is_float
from .many_weights import ManyWeights
from .program import output_key


class TensorFlowAdapter(KerasAdapter):
    ABILITIES = KerasAdapter.ABILITIES | frozenset(["export"])
    LIBRARIES = ("keras", "tensorflow")
    EXPORTER = "keras-tf2onnx"
    GENES_AT_ONCE = 1 << 22

    def import_backend(self):
        tf = import_library("tensorflow", least=(2, 16))
        tf.config.threading.set_intra_op_parallelism_threads(self.threads)
        tf.config.threading.set_inter_op_parallelism_threads(self.threads)

    def set_seed(self, seed, drawn=True):
        """With a new seed TensorFlow forgets all that it has made ready: it gets one where something draws from it."""
        import tensorflow as tf

        KerasAdapter.set_seed(self, seed, drawn)
        if drawn:
            tf.random.set_seed(seed % 2**31)

    def build(self):
        import tensorflow as tf

        info = tf.sysconfig.get_build_info()
        return {"compiler": str(info.get("cpu_compiler", "")), "git": tf.version.GIT_VERSION}

    def record(self):
        record = KerasAdapter.record(self)
        import tensorflow as tf

        record["versions"]["tensorflow"] = tf.__version__  # tensorflow-cpu has another distribution name
        return record

    @contextlib.contextmanager
    def exporting(self):
        import_library("tf2onnx")
        logging.getLogger("tf2onnx").setLevel(logging.CRITICAL)  # what it cannot convert is found in the file
        yield

    @contextlib.contextmanager
    def unoptimized_export(self):
        """Only copies are removed: the converter leaves some that are not valid."""
        from tf2onnx import optimizer
        from tf2onnx.optimizer.identity_optimizer import IdentityOptimizer

        optimize = optimizer.optimize_graph
        few = {"remove_identity": IdentityOptimizer}
        optimizer.optimize_graph = lambda graph, *args, **kwargs: optimize(graph, optimizers=few)
        try:
            yield
        finally:
            optimizer.optimize_graph = optimize

    def to_numpy(self, tensor):
        """Give arrays; NumPy refuses what TensorFlow gives it of a bfloat16 without axes."""
        import tensorflow as tf

        if isinstance(tensor, tf.Tensor) and tensor.dtype == tf.bfloat16 and tensor.shape.rank == 0:
            return KerasAdapter.to_numpy(self, tf.reshape(tensor, [1])).reshape(())
        return KerasAdapter.to_numpy(self, tensor)

    def caller(self, program):
        """Trace the model once, as a function of vectors of weights that it takes one after another."""
        run = program.__dict__.setdefault("many_weights", ManyWeights(program))

        def call(group, inputs):
            return {name: self.to_numpy(tensor) for name, tensor in run(group, inputs).items()}

        return call

    def differentiate(self, program, inputs, labels, loss, training, result):
        import tensorflow as tf

        tensors = self.to_tensors(inputs)
        nodes = {}
        with tf.GradientTape() as tape:
            for tensor in tensors.values():
                if is_float(tensor.dtype.name):
                    tape.watch(tensor)

            def watch(key, tensor):
                nodes[key] = tensor
                return tensor

            penalties = []
            outputs = program.run(tensors, training, watch, self._at, penalties)
            self._come_to("loss")
            value = loss(labels, outputs, penalties)
        self._come_to("backward")
        weights = {name: variable.value for name, variable in program.trainable().items()}
        sources = {"inputs": tensors, "nodes": nodes, "weights": weights}
        grads = tape.gradient(value, sources)
        result.loss = float(value)
        result.outputs = {name: self.to_numpy(tensor) for name, tensor in outputs.items()}
        result.nodes = {key: self.to_numpy(tensor) for key, tensor in nodes.items()}
        for group, prefix in (("inputs", "input:"), ("nodes", "node:"), ("weights", "weight:")):
            for name, gradient in grads[group].items():
                if gradient is not None:
                    result.gradients[prefix + name] = self.to_numpy(tf.convert_to_tensor(gradient))
        return grads["weights"]

    def replay_backward(self, program, key, arrays, cotangent, training, result):
        import tensorflow as tf

        tensors = [self.to_tensor(array) for array in arrays]
        layer = program.by_key[key].layer_name
        names = {name: v.value for name, v in program.trainable().items() if name.startswith(layer + "/")}
        with tf.GradientTape() as tape:
            for tensor in tensors:
                if is_float(tensor.dtype.name):
                    tape.watch(tensor)
            outputs = program.replay(key, tensors, training)
        pulled = tf.cast(self.to_tensor(cotangent), outputs[0].dtype)  # Keras may give another dtype elsewhere
        grads = tape.gradient(outputs[0], [tensors, names], output_gradients=pulled)
        for index, output in enumerate(outputs):
            result.nodes[output_key(key, index)] = self.to_numpy(output)
        for index, gradient in enumerate(grads[0]):
            if gradient is not None:
                result.gradients["input:{}/{}".format(key, index)] = self.to_numpy(tf.convert_to_tensor(gradient))
        for name, gradient in grads[1].items():
            if gradient is not None:
                result.gradients["weight:" + name] = self.to_numpy(tf.convert_to_tensor(gradient))
