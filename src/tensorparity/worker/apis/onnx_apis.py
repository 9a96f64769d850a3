"""The operators of ONNX, as the onnx package declares them: a schema each, and for some a body of other operators."""

#: What these give is drawn, so nothing can be said of it.
_DRAWN = frozenset(
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"]
)
_LONGEST_DOC = 12000


def list_apis():
    """Return the newest schema of every operator as JSON."""
    import onnx

    apis, excluded = [], {}
    for schema in sorted(onnx.defs.get_all_schemas(), key=lambda schema: (schema.domain, schema.name)):
        name = public_name(schema.domain, schema.name)
        reason = _reason(schema)
        if reason:
            excluded[name] = reason
            continue
        body = schema.has_function or schema.has_context_dependent_function
        apis.append(
            {
                "name": name,
                "kind": "operator",
                "aliases": [],
                "parameters": [_input(item) for item in schema.inputs],
                "doc": (schema.doc or "")[:_LONGEST_DOC],
                "features": ["body"] if body else [],
            }
        )
    return {"library": "onnx", "apis": apis, "excluded": excluded, "samples_only": True}


def public_name(domain, op):
    """Return what an operator is called here: ``onnx.Softmax``, ``onnx.ai.onnx.ml.Scaler``."""
    return ".".join(["onnx"] + ([domain] if domain not in ("", "ai.onnx") else []) + [op])


def _reason(schema):
    if schema.deprecated:
        return "it is deprecated"
    if schema.name in _DRAWN:
        return "it draws numbers"
    return ""


def _input(item):
    import onnx

    found = {"name": item.name, "type": "tensor", "dtypes": _dtypes(item)}
    if item.option == onnx.defs.OpSchema.FormalParameterOption.Optional:
        found["default"] = None
    if item.option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        found["many"] = True
    return found


_NAMES = {"float": "float32", "double": "float64"}


def _dtypes(item):
    """Return the dtypes that a schema allows, by NumPy's names."""
    found = [text[7:-1] for text in item.types if text.startswith("tensor(")]
    return sorted(_NAMES.get(name, name) for name in found)
