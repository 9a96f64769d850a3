"""PyTorch's public functions, modules and methods, with the schemas that its operators are registered under."""

import inspect
import re

from .listing import Listing, classes_of, documented, functions_of, public_names, signature_of

#: (public module, what its operators are called inside).
MODULES = (
    ("torch", ""),
    ("torch.nn.functional", ""),
    ("torch.linalg", "linalg_"),
    ("torch.special", "special_"),
    ("torch.fft", "fft_"),
    ("torch.signal.windows", ""),
)
_ALIAS = re.compile(r"^\s*(?:Alias (?:for|of)|See) :(?:func|meth):`~?([\w.]+)`", re.MULTILINE)
#: What has names of operators that mean something else: a window is no distribution.
_WRITTEN_IN_PYTHON = ("torch.signal.windows",)
#: What can drop numbers, and does so only where it is asked to.
_DROPOUT_IS_OFF = ("scaled_dot_product_attention",)
_UNKNOWN_TYPES = re.compile(r"^(t|t\[\]|str\[\]|Dict|Any|AnyEnumType|Device|Dimname|\(|Storage|Future)")


def list_apis():
    """Return the listing of the installed torch."""
    import torch

    listing = Listing()
    for name, prefix in MODULES:
        _add_functions(listing, _module(torch, name), name, prefix)
    _add_methods(listing, torch)
    _add_modules(listing, torch)
    _add_optimizers(listing, torch)
    return listing.reply("torch")


def _module(torch, name):
    found = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def _add_functions(listing, module, path, prefix):
    for name, function in functions_of(module):
        full = path + "." + name
        if getattr(function, "__module__", None) == "typing" or name[0].isupper():
            continue
        known = _same_function(listing, name, function, path)
        if known:
            listing.alias(full, known)
            continue
        reason = _left_out(name)
        if reason:
            listing.exclude(full, reason)
            continue
        is_operator = path not in _WRITTEN_IN_PYTHON
        schemas = (_schemas(prefix + name) or (_schemas(name) if prefix else [])) if is_operator else []
        if is_operator and _is_random(prefix + name):
            listing.exclude(full, "random")
            continue
        _add(listing, full, "function", function, schemas)


def _add(listing, full, kind, function, schemas):
    signature = signature_of(function)
    if signature is None or all(item.get("many") or item.get("any") for item in signature):
        signature = schemas[0] if schemas else None
    more = {"overloads": schemas[1:]} if len(schemas) > 1 else {}
    if signature is None:
        signature = documented(function, full.rsplit(".", 1)[-1])
    if signature is None:
        listing.exclude(full, "no signature is known")
    else:
        listing.add(full, kind, function, signature, key=full, **more)


def _same_function(listing, name, function, path):
    """Return the entry that this is another name of: in place, said to be an alias, or the same in torch itself."""
    doc = inspect.getdoc(function) or ""
    said = _ALIAS.search("\n".join(doc.split("\n")[:4]))
    if said and said.group(1) in listing and said.group(1) != path + "." + name:
        return said.group(1)
    bare = name.rstrip("_")
    candidates = ["torch." + bare] if path != "torch" and path in ("torch.nn.functional", "torch.Tensor") else []
    if name.endswith("_"):
        candidates += [path + "." + bare, "torch.nn.functional." + bare]
    if path == "torch.Tensor":
        candidates += ["torch.nn.functional." + bare, "torch.linalg." + bare, "torch.special." + bare]
        candidates += ["torch." + bare[2:]] if bare.startswith("__") else []
    return next((candidate for candidate in candidates if candidate in listing), None)


def _add_methods(listing, torch):
    for name in public_names(torch.Tensor):
        function = getattr(torch.Tensor, name, None)
        if not callable(function) or inspect.isclass(function):
            continue
        full = "torch.Tensor." + name
        known = _same_function(listing, name, function, "torch.Tensor")
        if known:
            listing.alias(full, known)
        elif _is_random(name):
            listing.exclude(full, "random")
        elif _left_out(name):
            listing.exclude(full, _left_out(name))
        else:
            schemas = [schema for schema in _schemas(name) if schema and schema[0]["name"] == "self"]
            more = {"overloads": schemas[1:]} if len(schemas) > 1 else {}
            parameters = schemas[0] if schemas else documented(function, name)
            if parameters is None:
                listing.exclude(full, "no signature is known")
            else:
                itself = [] if schemas else [{"name": "self", "type": "Tensor"}]
                listing.add(full, "method", function, itself + parameters, key=full, **more)


def _add_modules(listing, torch):
    for name, cls in classes_of(torch.nn, torch.nn.Module):
        full = "torch.nn." + name
        if name.startswith("Lazy") or name in ("Container", "ModuleList", "ModuleDict", "Sequential", "ParameterList"):
            listing.exclude(full, "a container")
            continue
        constructor = [item for item in signature_of(cls.__init__) or [] if item["name"] != "self"]
        call = [item for item in signature_of(cls.forward) or [] if item["name"] != "self"]
        listing.add(full, "class", cls, constructor, key=full, call=call)


def _add_optimizers(listing, torch):
    """Optimizers are made for the parameters of a model: no call of theirs is made up, those in torch's tests are."""
    for name, cls in classes_of(torch.optim, torch.optim.Optimizer):
        constructor = [item for item in signature_of(cls.__init__) or [] if item["name"] not in ("self", "params")]
        listing.add("torch.optim." + name, "optimizer", cls, constructor, key="torch.optim." + name)


def _left_out(name):
    """Return why this library's own conventions leave a name out."""
    if "sparse" in name or "quantize" in name or name.startswith(("sym_", "unsafe_", "q_")):
        return "is about sparse or quantized tensors or symbols"
    if "empty" in name or name.startswith("resize") or name == "new":
        return "its result is not determined"
    return ""


def _schemas(name):
    """Return the parameters of every overload of an operator that takes and gives plain values."""
    import torch

    found = []
    for schema in torch._C._jit_get_schemas_for_operator("aten::" + name):
        overload = str(schema.overload_name)
        if overload not in ("t", "str") and not overload.endswith(("out", "imname", "names")):
            parameters = [_schema_parameter(item) for item in schema.arguments]
            if None not in parameters and any(_says_much(item) for item in parameters):
                found.append(parameters)
    return found


def _says_much(item):
    """Return whether a parameter shows that the operator is about tensors, and not about numbers and lists."""
    return "Tensor" in item["type"] or item["name"] == "dtype"


def _schema_parameter(item):
    text = str(item.type)
    if hasattr(item, "real_type"):
        text = str(item.real_type)
    if _UNKNOWN_TYPES.match(text) and not item.has_default_value():
        return None
    found = {"name": item.name, "type": text}
    if item.kwarg_only:
        found["keyword"] = True
    if item.has_default_value():
        default = item.default_value
        found["default"] = list(default) if isinstance(default, (list, tuple)) else default
        if not isinstance(default, (int, float, bool, str, list, tuple, type(None))):
            found["default"] = {"$unwritten": type(default).__name__}
    return found


def _is_random(name):
    """Return whether the operator is marked as drawing numbers; a dropout that is off by default draws none."""
    import torch

    if name in _DROPOUT_IS_OFF:
        return False

    packet = getattr(torch.ops.aten, name.rstrip("_"), None)
    if packet is None:
        return False
    tags = [getattr(packet, overload).tags for overload in packet.overloads()]
    return any(torch.Tag.nondeterministic_seeded in found for found in tags)
