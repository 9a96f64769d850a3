"""What a case file may call: functions that compute, and nothing that reaches out."""

from __future__ import annotations

import pytest

from tensorparity.operators.functions.public_names import is_public_function
from tensorparity.worker.apis.denied import reason


@pytest.mark.parametrize(
    "name",
    [
        "torch.nn.functional.gelu",
        "tensorflow.io.decode_png",
        "jax.numpy.fft.fft",
        "keras.ops.softmax",
        "keras.utils.normalize",
        "torch.special.xlog1py",
        "torch.linalg.cond",
        "jax.numpy.set_diff1d",
        "()",
        ".to_sparse",
    ],
)
def test_what_computes_may_be_called(name: str) -> None:
    assert is_public_function(name)


@pytest.mark.parametrize(
    "name",
    ["torch.load", "torch.hub.load", "tensorflow.io.read_file", "tensorflow.io.writeFile", "keras.saving.load_model"]
    + ["tensorflow.raw_ops.Abort", "tensorflow.raw_ops.EagerPyFunc", "jax.numpy.savez", "torch.utils.dlpack.toDLPack"]
    + ["os.system", "torch.os.system", "torch._C.f", "jax.numpy.savez_save", ".tofile", ".__class__", "torch", ""],
)
def test_what_reaches_out_may_not(name: str) -> None:
    assert not is_public_function(name)


@pytest.mark.parametrize(
    "word",
    [
        "save",
        "load",
        "read",
        "write",
        "file",
        "files",
        "open",
        "dump",
        "restore",
        "checkpoint",
        "memmap",
        "tofile",
        "fromfile",
        "download",
        "path",
        "directory",
        "folder",
        "pickle",
        "unpickle",
        "hub",
        "url",
        "http",
        "socket",
        "server",
        "rpc",
        "distributed",
        "multiprocessing",
        "process",
        "spawn",
        "fork",
        "thread",
        "exec",
        "eval",
        "system",
        "subprocess",
        "os",
        "sys",
        "popen",
        "script",
        "compile",
        "jit",
        "pyfunc",
        "callback",
        "hook",
        "import",
        "imp",
        "importlib",
        "dlpack",
        "cpp",
        "extension",
        "ctypes",
        "cuda",
        "device",
        "library",
        "register",
        "config",
        "environ",
        "debugging",
        "profiler",
        "testing",
        "utils",
        "saving",
        "datasets",
        "applications",
        "wrappers",
        "legacy",
        "internal",
        "storage",
        "loadtxt",
        "genfromtxt",
        "savetxt",
        "fromregex",
        "py",
        "call",
        "apply",
        "map",
        "custom",
        "export",
        "saved",
        "summary",
        "tpu",
        "distribute",
        "saver",
        "queue",
        "barrier",
    ],
)
def test_words_that_lead_out(word: str) -> None:
    """In a module's name, in a function's and in a method's; a listing leaves such a function out as well."""
    for name in (f"torch.{word}.f", f"jax.numpy.my_{word}", f"tensorflow.raw_ops.My{word.title()}Op", f".{word}"):
        assert not is_public_function(name) or name == ".eval", name  # which sets a module's mode
    assert reason(f"torch.my_{word}", "", [{"name": "x"}])


def test_a_module_is_set_to_its_mode_and_no_text_is_run() -> None:
    assert is_public_function(".eval")
    assert not any(map(is_public_function, ("torch.eval", "keras.eval", ".exec", ".system", "eval")))
