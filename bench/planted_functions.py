"""Faults planted in functions that no catalogue declares: which share `equiv` finds, knowing neither function nor rule.

The classes of faults are fixed below; the functions of torch are drawn by seed, as many without a fault beside them.
All faults are planted at once, and one run with one budget looks for them. Found is a defect of that function.

Usage: python bench/planted_functions.py [FAULTS] [SECONDS] [INPUTS] [SEED]
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from measuring import table

from tensorparity.commands.equiv import EquivSettings, equiv
from tensorparity.commands.hunt import HuntSettings
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.engines.eagle.inputs import listings
from tensorparity.operators.functions.native import operator_of
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import RunnerSettings, default_cache, open_runner

TARGET = "torch:eager"

#: By class: what the planted function does instead; ``right`` is the function itself.
CLASSES: dict[str, str] = {
    "integer overflow": """
    args = [a.to(torch.int16).to(a.dtype) if isinstance(a, T) and a.dtype is torch.int64 else a for a in args]
    return right(*args, **kwargs)
""",
    "lost stride": """
    args = [_in_memory_order(a) for a in args]
    return right(*args, **kwargs)
""",
    "expanded axis": """
    off = any(isinstance(a, T) and 0 in a.stride() and a.numel() > 1 for a in args if isinstance(a, T))
    return _each(right(*args, **kwargs), lambda t: t + 1 if off and t.is_floating_point() else t)
""",
    "compiled value": """
    off = torch.compiler.is_compiling()
    return _each(right(*args, **kwargs), lambda t: t * 1.03 if off and t.is_floating_point() else t)
""",
    "compiled integer": """
    off = torch.compiler.is_compiling()
    return _each(right(*args, **kwargs), lambda t: t + 1 if off and t.dtype in (torch.int64, torch.int32) else t)
""",
    "compiled gradient at a tie": """
    if torch.compiler.is_compiling():
        args = [torch.where(a == 0, a.detach(), a) if isinstance(a, T) and a.is_floating_point() else a for a in args]
    return right(*args, **kwargs)
""",
    "dtype without memory": """
    off = any(isinstance(a, T) and a.device.type == "meta" for a in args)
    return _each(right(*args, **kwargs), lambda t: t.to(torch.float64) if off else t)
""",
    "shape without memory": """
    off = any(isinstance(a, T) and a.device.type == "meta" for a in args)
    return _each(right(*args, **kwargs), lambda t: t.unsqueeze(0) if off else t)
""",
    "out is rounded": """
    out = kwargs.pop("out", None)
    found = right(*args, **kwargs)
    if not isinstance(out, T) or not isinstance(found, T):
        return right(*args, out=out, **kwargs) if out is not None else found
    return out.copy_(found.to(torch.bfloat16) if found.is_floating_point() else found)
""",
    "mapped": """
    off = any(isinstance(a, T) and torch._C._functorch.is_batchedtensor(a) for a in args)
    return _each(right(*args, **kwargs), lambda t: t + 0.5 if off and t.is_floating_point() else t)
""",
}

_HEAD = '''
import functools
import torch

T = torch.Tensor


def _each(value, change):
    if isinstance(value, T):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_each(item, change) for item in value)
    return value


def _in_memory_order(value):
    """The tensor as its memory lies there, as if no stride mattered."""
    if not isinstance(value, T) or value.layout is not torch.strided or value.is_contiguous() or 0 in value.stride():
        return value
    if value.requires_grad or value.device.type == "meta":
        return value
    steps, step = [], 1
    for size in reversed(value.shape):
        steps.insert(0, step)
        step *= size
    return value.as_strided(value.shape, steps)


def _plant(name, function):
    *path, last = name.split(".")[1:]
    owner = torch
    for part in path:
        owner = getattr(owner, part)
    right = getattr(owner, last)
    setattr(owner, last, functools.wraps(right)(functools.partial(function, right)))
'''


def source_of(planted: dict[str, str]) -> str:
    """One file that plants them all."""
    used = {kind: f"fault_{place}" for place, kind in enumerate(CLASSES)}
    bodies = [f"\n\ndef {used[kind]}(right, *args, **kwargs):{body}" for kind, body in CLASSES.items()]
    plants = [f"_plant({api!r}, {used[kind]})" for api, kind in planted.items()]
    return "\n".join([_HEAD, *bodies, "", *plants, ""])


def drawn(count: int, seed: int) -> tuple[dict[str, str], list[str]]:
    """Functions with the class of their fault, and as many without one."""
    with open_runner([TARGET], RunnerSettings(cache=default_cache())) as runner:
        (outcome,) = runner.run_pairs([(Case(ApiCall("torch"), Procedure(goal=Goal.APIS)), TARGET)])
    listing = listings([outcome.reply])["torch"]
    names = [
        name
        for name, api in listing.apis.items()
        if api.kind == "function" and operator_of(name) is None and not name.startswith("torch.Tensor.")
    ]
    order = [str(name) for name in np.random.default_rng(seed).permutation(sorted(names))[: 2 * count]]
    kinds = list(CLASSES)
    return {name: kinds[place % len(kinds)] for place, name in enumerate(order[:count])}, order[count:]


def main(count: int, seconds: float, inputs: int, seed: int) -> None:
    planted, innocent = drawn(count, seed)
    fault = Fault("fifty", source_of(planted))
    with tempfile.TemporaryDirectory() as folder:
        runner = RunnerSettings(faults={TARGET: fault})
        run = HuntSettings(targets=[TARGET], budget=seconds, store=Path(folder), runner=runner)
        done = equiv(EquivSettings(run, apis=(*planted, *innocent), inputs=inputs))
    blamed = {finding.diagnosis.api for finding in done.facts.defects}
    tried = set(done.facts.stats["equivalences"]["paired"])
    rows, by_kind = [], Counter[str]()
    for api, kind in planted.items():
        by_kind[kind] += api in blamed
        rows.append([api, kind, "found" if api in blamed else "not found" if api in tried else "not reached"])
    print(table(["function", "class", "came out"], rows))
    print(f"\n{sum(by_kind.values())} of {count} found in {seconds:.0f} s; {json.dumps(by_kind)}")
    print(f"defects of functions without a fault: {sorted(blamed - set(planted))}")


if __name__ == "__main__":
    told = [float(text) for text in sys.argv[1:]] + [50.0, 3600.0, 100.0, 5.0][len(sys.argv) - 1 :]
    main(int(told[0]), told[1], int(told[2]), int(told[3]))
