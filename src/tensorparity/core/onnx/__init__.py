"""ONNX files without the ``onnx`` package: the wire, the messages, the file and its neighbours, the layers."""
