"""Keras 3 on one of its backends. One backend per process: Keras chooses when it is imported."""

from ...contract import Unsupported


def make_adapter(flavour, options):
    """Return the adapter of the backend named by ``flavour``."""
    if flavour == "tensorflow":
        from .on_tensorflow import TensorFlowAdapter as adapter
    elif flavour == "jax":
        from .on_jax import JaxAdapter as adapter
    elif flavour == "torch":
        from .on_pytorch import TorchAdapter as adapter
    elif flavour == "numpy":
        from .forward_only import NumpyAdapter as adapter
    elif flavour == "openvino":
        from .forward_only import OpenVinoAdapter as adapter
    else:
        raise Unsupported("no adapter for Keras on {!r}".format(flavour))
    return adapter(flavour, options)
