"""The same call on another target: streams of cases for whoever runs the same function."""

from .keras_backends import backend_cases
from .numpy_names import followed
from .onnx_nodes import node_cases

__all__ = ["backend_cases", "followed", "node_cases"]
