"""TensorFlow's public functions and raw operations, the latter with the types that its registry allows."""

import inspect

from .listing import Listing, functions_of, public_names, signature_of

#: Public modules whose functions compute something from tensors; all others are left out, and counted.
MODULES = (
    "tensorflow",
    "tensorflow.math",
    "tensorflow.nn",
    "tensorflow.linalg",
    "tensorflow.linalg.experimental",
    "tensorflow.image",
    "tensorflow.signal",
    "tensorflow.bitwise",
    "tensorflow.dtypes",
    "tensorflow.audio",
    "tensorflow.xla",
    "tensorflow.nn.experimental",
    "tensorflow.math.special",
    "tensorflow.experimental.numpy",
)
_NOT_LOOKED_INTO = frozenset(["compat", "keras", "raw_ops", "dtensor"])
_NUMERIC = frozenset(
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
)
_PARAMETER_TYPES = frozenset(
    ["int", "float", "bool", "string", "type", "shape", "list(int)", "list(float)", "list(bool)", "list(shape)"]
)


def list_apis():
    """Return the listing of the installed TensorFlow."""
    import tensorflow

    listing = Listing()
    for path in MODULES:
        _add_functions(listing, tensorflow, path)
    _count_others(listing, tensorflow, "tensorflow")
    for name in public_names(tensorflow.raw_ops):
        _add_raw_op(listing, tensorflow, name)
    return listing.reply("tensorflow")


def _add_functions(listing, tensorflow, path):
    module = tensorflow
    for part in path.split(".")[1:]:
        module = getattr(module, part, None)
    if module is None:
        return
    for name, function in functions_of(module):
        if not name[0].isupper():
            listing.add(path + "." + name, "function", function, key=_underlying(function))


def _underlying(function):
    """Return what identifies the function below TensorFlow's decorators."""
    from tensorflow.python.util import tf_decorator

    return id(tf_decorator.unwrap(function)[1])


def _count_others(listing, module, path, depth=0):
    for name in public_names(module):
        found = getattr(module, name, None)
        if inspect.ismodule(found) and name not in _NOT_LOOKED_INTO and depth < 3:
            if path + "." + name not in MODULES:
                for inner, _ in functions_of(found):
                    listing.exclude(path + "." + name + "." + inner, "outside the allowed modules")
            _count_others(listing, found, path + "." + name, depth + 1)


def _add_raw_op(listing, tensorflow, name):
    from tensorflow.python.framework import op_def_registry

    full = "tensorflow.raw_ops." + name
    definition = op_def_registry.get(name)
    if definition is None:
        listing.exclude(full, "not registered")
        return
    if definition.HasField("deprecation"):
        listing.exclude(full, "deprecated")
        return
    if definition.is_stateful:
        listing.exclude(full, "has a state or a handle")
        return
    kernels = _kernel_types(name)
    if kernels is None:
        listing.exclude(full, "no kernel on a CPU")
        return
    try:
        parameters = _parameters(definition, kernels)
    except ValueError as error:
        listing.exclude(full, str(error))
        return
    function = getattr(tensorflow.raw_ops, name)
    order = [item["name"] for item in signature_of(function) or () if item["name"] != "name"]
    _rename(parameters, order)
    parameters.sort(key=lambda item: order.index(item["name"]) if item["name"] in order else len(order))
    if not {item["name"] for item in parameters} <= set(order):
        listing.exclude(full, "no signature is known")
        return
    listing.add(full, "raw op", function, parameters, key=full)


def _rename(parameters, order):
    """Give parameters the names of the Python function, which has some that the registry does not."""
    unknown = [item for item in parameters if item["name"] not in order]
    left = [name for name in order if name not in {item["name"] for item in parameters}]
    if len(unknown) == len(left):
        for item, name in zip(unknown, left):
            item["name"] = name


def _kernel_types(name):
    """Return the allowed types by attribute over all kernels for a CPU, or None where there is none."""
    from tensorflow.python.framework import dtypes, kernels

    allowed, found = {}, False
    for kernel in kernels.get_registered_kernels_for_op(name).kernel:
        if kernel.device_type not in ("CPU", "DEFAULT"):
            continue
        found = True
        for constraint in kernel.constraint:
            names = [dtypes.as_dtype(number).name for number in constraint.allowed_values.list.type]
            allowed.setdefault(constraint.name, set()).update(names)
    return allowed if found else None


def _parameters(definition, kernels):
    attributes = {attribute.name: attribute for attribute in definition.attr}
    inferred, parameters = set(), []
    for argument in definition.input_arg:
        parameters.append(_input(argument, attributes, kernels))
        inferred.update([argument.type_attr, argument.number_attr, argument.type_list_attr])
    for attribute in definition.attr:
        if attribute.name not in inferred:
            parameters.append(_attribute(attribute, kernels))
    return parameters


def _input(argument, attributes, kernels):
    from tensorflow.python.framework import dtypes

    if argument.type_list_attr:
        raise ValueError("takes tensors of several types")
    if argument.is_ref:
        raise ValueError("has a state or a handle")
    found = {
        "name": argument.name,
        "keyword": True,
        "registry": True,
        "type": "list(tensor)" if argument.number_attr else "tensor",
    }
    if argument.type_attr:
        found["same_type"] = argument.type_attr
        found["dtypes"] = _types(attributes[argument.type_attr], kernels)
    else:
        found["dtypes"] = [dtypes.as_dtype(argument.type).name]
    found["dtypes"] = [name for name in found["dtypes"] if name in _NUMERIC]
    if not found["dtypes"]:
        raise ValueError("is about strings, resources or quantized types")
    if argument.number_attr:
        found["same_number"] = argument.number_attr
    return found


def _types(attribute, kernels):
    from tensorflow.python.framework import dtypes

    allowed = [dtypes.as_dtype(number).name for number in attribute.allowed_values.list.type]
    here = kernels.get(attribute.name)
    if not allowed:
        return sorted(here) if here else sorted(_NUMERIC)
    return [name for name in allowed if not here or name in here] or allowed


def _attribute(attribute, kernels):
    if attribute.type not in _PARAMETER_TYPES:
        raise ValueError("takes code" if "func" in attribute.type else "takes a handle or a resource")
    found = {"name": attribute.name, "keyword": True, "registry": True, "type": attribute.type}
    if attribute.type == "type":
        found["dtypes"] = [name for name in _types(attribute, kernels) if name in _NUMERIC]
    if attribute.allowed_values.list.s:
        found["choices"] = [text.decode() for text in attribute.allowed_values.list.s]
    if attribute.has_minimum:
        found["minimum"] = int(attribute.minimum)
    if attribute.HasField("default_value"):
        found["default"] = _default(attribute)
    return found


def _default(attribute):
    from tensorflow.python.framework import dtypes

    value = attribute.default_value
    if attribute.type == "type":
        return {"$dtype": dtypes.as_dtype(value.type).name}
    if attribute.type == "string":
        return value.s.decode("utf-8", "replace")
    if attribute.type == "shape":
        return {"$unwritten": "shape"}
    if attribute.type.startswith("list"):
        return [item for field in ("i", "f", "b") for item in getattr(value.list, field)]
    return {"int": int(value.i), "float": float(value.f), "bool": bool(value.b)}[attribute.type]
