"""An operator of ONNX said otherwise: by its body (operators that its schema says it is), or in a later version."""

from ..contract import Unsupported


def with_body(model):
    """Return the bytes of a model of one operator with that operator's body in its place."""
    try:
        import onnx
        from onnx import inliner
    except ImportError as error:
        raise Unsupported("bodies of operators are the onnx package's: {}".format(error))
    if not hasattr(inliner, "inline_selected_functions"):
        raise Unsupported("onnx {} writes no bodies out".format(onnx.__version__))
    loaded = onnx.load_from_string(model)
    node = loaded.graph.node[0]
    try:
        inlined = inliner.inline_selected_functions(
            onnx.shape_inference.infer_shapes(loaded),
            [(node.domain, node.op_type)],
            exclude=False,
            inline_schema_functions=True,
        )
    except TypeError as error:  # an older one, which knows functions of the file alone
        raise Unsupported("onnx {} writes no bodies out: {}".format(onnx.__version__, error))
    if any((item.domain, item.op_type) == (node.domain, node.op_type) for item in inlined.graph.node):
        raise Unsupported("{} has no body in this version of the operators".format(node.op_type))
    return inlined.SerializeToString()


def converted(model):
    """Return the bytes of a model that says the same in the newest version of the operators, by ONNX's converter."""
    try:
        import onnx
        from onnx import version_converter
    except ImportError as error:
        raise Unsupported("models are converted by the onnx package: {}".format(error))
    loaded = onnx.shape_inference.infer_shapes(onnx.load_from_string(model))
    if len(loaded.opset_import) != 1 or loaded.opset_import[0].domain not in ("", "ai.onnx"):
        raise Unsupported("only the standard's operators are converted")
    try:
        found = version_converter.convert_version(loaded, onnx.defs.onnx_opset_version())
    except Exception as error:
        raise Unsupported("it is not converted: {}".format(error))
    return found.SerializeToString()
