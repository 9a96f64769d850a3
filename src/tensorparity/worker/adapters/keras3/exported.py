"""A model as ``Model.export`` writes it, read back by what reads such files, and run on the same inputs.

A format is one of Keras' own; where its documentation does not offer one on a backend, nothing is to be had there.
"""

import os
import tempfile

import numpy as np

from ...contract import Unsupported, import_library
from .program import plain

#: How a variant begins that asks for an exported model.
PREFIX = "export "


def is_exported(job):
    """Tell whether a job asks for what an exported model gives."""
    return bool(job.option("reload")) and job.option("variant", "").startswith(PREFIX)


def run_exported(adapter, program, inputs, variant):
    """Return what the exported model gives, by the names of the model's outputs."""
    form = variant[len(PREFIX) :]
    if form not in _FORMATS:
        raise Unsupported("models are not exported as {!r}".format(form))
    backends, export = _FORMATS[form]
    if adapter.flavour not in backends:
        raise Unsupported("Keras on {} does not export to {}".format(adapter.flavour, form))
    arrays = [np.asarray(plain(inputs[name])) for name, _ in program.inputs]
    with tempfile.TemporaryDirectory() as folder:
        found = export(adapter, program, arrays, folder)
    if len(found) != len(program.outputs):
        raise ValueError("the model has {} outputs, the exported one {}".format(len(program.outputs), len(found)))
    return {name: np.asarray(array) for (name, _), array in zip(program.outputs, found)}


def _onnx(adapter, program, arrays, folder):
    onnxruntime = import_library("onnxruntime")
    import_library("onnx")
    if adapter.flavour == "jax":
        import_library("tf2onnx")
    with adapter.exporting():
        path = _exported(program, folder, "model.onnx", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, _by_name(program, arrays, [item.name for item in session.get_inputs()]))


def _by_name(program, arrays, names):
    """Return the arrays by the names of the file's inputs: the model's, or in the model's order."""
    own = {name: array for (name, _), array in zip(program.inputs, arrays)}
    if set(names) <= set(own):  # one that nothing depends on may be gone
        return {name: own[name] for name in names}
    if len(names) != len(arrays):
        raise ValueError("the model has {} inputs, the exported one asks for {}".format(len(arrays), names))
    return dict(zip(names, arrays))


def _saved_model(adapter, program, arrays, folder):
    tf = import_library("tensorflow")
    path = _exported(program, folder, "model", "tf_saved_model")
    given = _as_given(program.model, [tf.constant(array) for array in arrays])
    loaded = tf.saved_model.load(path)  # its variables live as long as it does
    return [value.numpy() for value in _flat(loaded.serve(given))]


def _as_given(model, values):
    """Return tensors in the structure in which the model takes them."""
    import keras

    functional = model._functional if isinstance(model, keras.Sequential) else model
    return keras.tree.pack_sequence_as(functional._inputs_struct, values)


def _openvino(adapter, program, arrays, folder):
    openvino = import_library("openvino")
    path = _exported(program, folder, "model.xml", "openvino")
    core = openvino.Core()
    compiled = core.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = compiled(arrays)
    return [np.array(results[place]) for place in range(len(compiled.outputs))]


def _litert(adapter, program, arrays, folder):
    import_library("tensorflow")
    path = _exported(program, folder, "model.tflite", "litert")
    runner = _interpreted(path).get_signature_runner()
    names = list(runner.get_input_details())
    found = runner(**_by_name(program, arrays, names))
    return [found[name] for name in sorted(found, key=_number)]


def _interpreted(path):
    import tensorflow as tf

    try:
        interpreter = tf.lite.Interpreter(model_path=path, num_threads=1)
        interpreter.allocate_tensors()
    except RuntimeError as error:
        if "Flex delegate" in str(error):  # "Select TensorFlow operators", which this interpreter is built without
            raise Unsupported("the file needs TensorFlow's operators, which this interpreter does not have")
        raise
    return interpreter


def _number(name):
    """Return what ``output_0`` is sorted by."""
    last = name.rpartition("_")[2]
    return (int(last) if last.isdigit() else 0, name)


def _torch(adapter, program, arrays, folder):
    """Exported for the sizes that it is given: those of the batch are fixed unless a user says more."""
    import keras
    import torch

    sizes = [keras.InputSpec(shape=array.shape, dtype=array.dtype.name) for array in arrays]
    path = _exported(program, folder, "model.pt2", "torch", input_signature=[_as_given(program.model, sizes)])
    module = torch.export.load(path).module()
    with torch.no_grad():
        found = module(_as_given(program.model, [torch.from_numpy(array) for array in arrays]))
    return [value.detach().numpy() for value in _flat(found)]


def _exported(program, folder, name, form, **options):
    import keras

    path, model = os.path.join(folder, name), program.model
    like = [keras.KerasTensor(tensor.shape, dtype=tensor.dtype) for tensor in model.inputs]
    model(_as_given(model, like))  # one that was never called is not exported
    model.export(path, format=form, verbose=False, **options)
    return path


def _flat(value):
    import keras

    return keras.tree.flatten(value)


#: By format: the backends that Keras documents it for, and how it is exported and run.
_FORMATS = {
    "onnx": (("tensorflow", "jax", "torch"), _onnx),
    "tf_saved_model": (("tensorflow", "jax"), _saved_model),
    "openvino": (("tensorflow", "jax", "torch", "openvino"), _openvino),
    "litert": (("tensorflow",), _litert),
    "torch": (("torch",), _torch),
}
