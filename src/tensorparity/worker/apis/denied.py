"""What is never called: decided by names, arguments and documentation, before the first call.

There is one table of words, and two questions. Of modules that a listing names, ``reason`` leaves out what touches
files, network, processes, devices or code by what it is called and by what it must be given; optional arguments of
that kind are never set. Of a name that a case file calls, which may be any, ``leads_out`` looks at every part.
The host asks the second question, so this module is one of the two of the worker's that it imports.
"""

import re

#: Words that lead out of what computes, wherever in a name they stand: ``torch.hub.load``, ``keras.saving.x``.
_ANYWHERE = {
    "touches files": "file files save saved saver saving load read write restore dump open checkpoint memmap mmap "
    "tofile fromfile fromregex fromstring download path glob directory folder tempdir pickle unpickle savez savetxt "
    "loadtxt genfromtxt npz hub datasets",
    "touches the network or other processes": "url http socket server rpc distributed distribute fork spawn process "
    "subprocess popen os sys system environ thread threads session service collective allreduce broker nccl abort "
    "wait multiprocessing",
    "touches devices": "cuda tpu device dlpack",
    "runs code": "exec eval compile script jit pyfunc py callback custom export map call apply import imp importlib "
    "ctypes cpp extension library",
    "changes or reads the library's settings": "config register summary profiler",
    "has a state or a handle": "hook queue barrier",
    "frees or shares memory": "storage",
    "is no function that computes": "applications debugging internal legacy testing utils wrappers",
}
#: Words of a function's own name alone: modules and methods that compute are called so, too.
_OWN = {
    "touches files": "shard immutable",
    "touches devices": "gpu devices xpu mps mtia ipu hip accelerator stream pin memory sharding layout autocast mesh "
    "infeed outfeed",
    "runs code": "tracing function vmap hessian jacobian jacrev vjp jvp derivative while scan cond switch foldl foldr "
    "callable lambda vectorize piecewise fromfunction wrap decorator ir schema comment unify control enter exit merge "
    "iteration loop reinforce",
    "changes or reads the library's settings": "set enabled available symbolic enable disable seed initialize "
    "unregister reset clear get use printoptions setprintoptions backend manual policy init placeholder print debug "
    "assert deterministic errstate doctor flags version typename",
    "has a state or a handle": "variable resource handle iterator dataset temporary mutex accumulator anonymous ref "
    "assign param",
    "frees or shares memory": "share shared untyped owner retain refine names rename requires ptr",
    "is about strings, or other hardware": "coo csr csc bsr bsc crow ccol qint strings string unicode regex proto "
    "csv sstable jagged mkldnn fbgemm cudnn miopen tensorlist optional variant",
}
#: Words that are also of everyday use; a name that this is found in is harmless.
_HARMLESS = re.compile(
    r"(linalg\.cond$|linalg_cond$|SetOperation|SetSize|[sS]et_?([dD]iff|xor|[dD]iag)|DataFormatDimMap|CrossMapLRN|"
    r"PiecewiseConstant|map_coordinates|get_?(shape|item)|IntegerLookup|embedding_lookup|is_jpeg|dynamic_stitch|"
    r"batch_norm_with_global|AccumulatorNothing|shard_index|image\.resize|trace$|[xX]log1py$)"
)
#: What computes all the same.
_COMPUTING = (
    "keras.utils.normalize",
    "keras.utils.to_categorical",
    "keras.utils.pad_sequences",
    "keras.utils.img_to_array",
    "keras.ops.image.map_coordinates",
    "jax.scipy.ndimage.map_coordinates",
    "jax.scipy.special.xlog1py",
    "tensorflow.math.xlog1py",
    "tensorflow.raw_ops.Xlog1py",
    "torch.special.xlog1py",
)
_RANDOM = re.compile(
    r"(^|_|\.)(rand(?!om)|randn|randint|randperm|random(?!_gamma_grad)|rng_\w|multinomial|normal_?$|dropout|"
    r"alpha_dropout|feature_dropout|rrelu|gumbel|log_normal|stateless|sampled_softmax|nce_loss|fractional_max|"
    r"truncated_normal|candidate_sampler)",
    re.IGNORECASE,
)
#: Words of what draws numbers, and of what only speaks of a distribution or an order: the former is given a seed.
_MAYBE_RANDOM = re.compile(
    r"(^|_|\.)(bernoulli|poisson|uniform|exponential_?$|geometric_?$|cauchy_?$|categorical$|permutation|choice|shuffle)",
    re.IGNORECASE,
)
_SEEDS = ("seed", "seed2", "seeds", "key", "rng", "rng_key", "generator")
_DEPRECATED = re.compile(r"deprecated|will be removed", re.IGNORECASE)
#: Arguments that have to be given and say what a function does to the world.
_ARGUMENTS = {
    "runs inside a mapped function": "axis_name axis_names",
    "takes encoded bytes": "contents input_bytes",
    "takes a path": "path paths file files filename filenames fname filepath file_name directory folder dirname "
    "file_pattern prefix basename fp out_file save_dir model_dir log_dir root_dir dest dst_path tar_file archive",
    "takes an address": "url urls host hostname port address uri endpoint master service",
    "takes a device": "device devices sharding mesh device_ids stream device_type layout",
    "takes code": "fn func function callable f body cond cond_fun body_fun body_fn cond_fn callback hook init_fun "
    "predicate true_fn false_fn branches closure forward_fn map_fn loop_fun pred_fn computation script comparator "
    "cls model layer layers module cell cells fun funcs op operator strategy target_class converter",
    "takes a handle or a resource": "handle resource dataset iterator queue session storage generator tensor_list "
    "container element_spec out_sharding memory_space process_group optimizer optimizers modules policy config "
    "custom_objects memory_region_name",
}
_BY_ARGUMENT = {word: reason for reason, words in _ARGUMENTS.items() for word in words.split()}
_BY_WORD = {word: reason for reason, words in _ANYWHERE.items() for word in words.split()}
_BY_OWN_WORD = {word: reason for reason, words in _OWN.items() for word in words.split()}
_TYPES = re.compile(r"Callable|Generator|Path|IO\[|resource|variant|Module\b|Device|Sharding")
#: Never set although they may be: who sets them asks for another device, a file, a place to write.
NEVER_SET = frozenset(
    [
        "device",
        "out",
        "name",
        "layout",
        "pin_memory",
        "requires_grad",
        "generator",
        "out_sharding",
        "sharding",
        "memory_format",
        "file",
        "callback",
        "axis_name",
        "axis_index_groups",
        "abstracted_axes",
        "autotune",
        "jit_compile",
        "backend",
        "kwargs",
        "extra_categorical",
        "compile",
        "where",
        "initial",
        "debug",
        "infer_shape",
        "ragged_batch",
        "use_gpu",
    ]
)


def reason(name, doc, parameters, call=None):
    """Return why a public name is never called, or an empty string."""
    return (
        _by_name(name)
        or _by_arguments(list(parameters or ()) + list(call or ()))
        or ("random" if _is_random(name, parameters) else "")
        or ("deprecated" if _DEPRECATED.search(" ".join(doc.split("\n\n")[:2])) else "")
    )


def leads_out(name):
    """Return why a name that a stranger's file calls leads out of what computes, or an empty string.

    Modules count, too: what is called may be any name, not one of a listing.
    """
    if name in _COMPUTING:
        return ""
    for part in name.split("."):
        for word in words_of(part):
            if word in _BY_WORD:
                return _BY_WORD[word]
    return ""


def words_of(name):
    """Return the words of a name, with and without those that digits and capitals part: ReadFile has read and file."""
    last = name.rsplit(".", 1)[-1]
    spread = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", last)
    fine = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", spread)
    words = re.split(r"[_\d]+", fine.lower()) + spread.lower().split("_")
    return [word for place, word in enumerate(words) if word and word not in words[:place]]


def _by_name(name):
    if _HARMLESS.search(name):
        return ""
    for word in words_of(name):
        reason = _BY_WORD.get(word) or _BY_OWN_WORD.get(word)
        if reason:
            return reason
    return ""


def _by_arguments(parameters):
    for parameter in parameters:
        if "default" in parameter or parameter.get("any"):
            continue
        if "Array" in parameter.get("type", "") and "Callable" not in parameter["type"]:
            continue
        if parameter["name"].lower() in _BY_ARGUMENT:
            return _BY_ARGUMENT[parameter["name"].lower()]
        if _TYPES.search(parameter.get("type", "")):
            return "takes code" if "Callable" in parameter["type"] else "takes a handle or a resource"
    return ""


def _is_random(name, parameters):
    last = name.rsplit(".", 1)[-1]
    last = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", last)
    if _RANDOM.search(last) or name.startswith(("jax.random.", "keras.random.", "tensorflow.random.")):
        return True
    names = [parameter["name"] for parameter in parameters or ()]
    if _MAYBE_RANDOM.search(last) and any(item in _SEEDS for item in names):
        return True
    drawn = any(item in ("seed", "seed2", "rng_key") for item in names)
    return drawn and not any("dropout" in item for item in names)  # a dropout that is off by default draws nothing
