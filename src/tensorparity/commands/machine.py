"""What of a machine decides which kernels run: the instruction set, oneDNN, a compiler, memory."""

from __future__ import annotations

import os
import platform
import shutil
import sysconfig
from pathlib import Path

import psutil

from ..reporting import words

#: Of the processor's flags, those that libraries choose kernels by; the widest comes last.
_INSTRUCTION_SETS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "asimd", "sve")
#: What users set to have other kernels chosen.
_SWITCHES = ("TF_ENABLE_ONEDNN_OPTS", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "ONEDNN_DEFAULT_FPMATH_MODE")


def machine_notes() -> list[str]:
    """The machine in sentences."""
    memory = psutil.virtual_memory()
    return words.machine(
        platform.machine(),
        os.cpu_count() or 1,
        instruction_sets(_processor_flags()),
        {name: os.environ[name] for name in _SWITCHES if name in os.environ},
        *compiler(),
        memory.total,
        memory.available,
    )


def _processor_flags() -> str:
    """As Linux lists them; nothing elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2] for line in lines if line.lower().startswith(("flags", "features"))), "")


def instruction_sets(flags: str) -> list[str]:
    """Those of the flags that matter."""
    had = set(flags.split())
    return [name for name in _INSTRUCTION_SETS if name in had]


def compiler() -> tuple[str | None, bool]:
    """The C++ compiler that torch.compile would use, and whether there are the headers that it needs beside it."""
    names = (os.environ.get("CXX", ""), "g++", "clang++", "c++")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    return found, (Path(sysconfig.get_path("include")) / "Python.h").exists()
