"""Native torch: single calls of its public functions."""

import numpy as np

from ..contract import Adapter, Result, Unsupported, import_library
from ..protocol import Bits
from .calls import call_api


def make_adapter(flavour, options):
    """Return the adapter of a torch flavour."""
    if flavour not in ("", "eager"):
        raise Unsupported("no adapter for torch:{}".format(flavour))
    return TorchCallAdapter(flavour, options)


class TorchCallAdapter(Adapter):
    ABILITIES = frozenset(["call", "api-call"])
    LIBRARIES = ("torch",)

    def __init__(self, flavour, options):
        Adapter.__init__(self, flavour, options)
        self.mode = "eager call"

    def start(self):
        torch = import_library("torch", least=(2, 0))
        torch.set_num_threads(self.threads)

    def build(self):
        import torch

        return {"git": str(torch.version.git_version)}

    def run(self, job):
        if job.subject["kind"] != "api-call":
            raise Unsupported("torch:eager runs single calls so far, not {}".format(job.subject["kind"]))
        outputs = call_api("torch.", _resolve, job, _to_tensor)
        result = Result()
        flat = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        for index, output in enumerate(flat):
            result.outputs[str(index)] = _to_numpy(output)
        return result


def _to_tensor(array):
    import torch

    if isinstance(array, Bits):
        return torch.from_numpy(array.bits.copy()).view(getattr(torch, array.dtype))
    return torch.from_numpy(np.array(array))


def _to_numpy(output):
    import torch

    if not isinstance(output, torch.Tensor):
        return np.array(output)
    output = output.detach()
    if output.dtype == torch.bfloat16:
        return Bits("bfloat16", output.view(torch.uint16).numpy().copy())
    return np.array(output.numpy())


def _resolve(name):
    import torch

    found = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found
