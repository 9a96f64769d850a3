"""What a worker holds, and that it gives back what it need not."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Every hundredth block stays, so that the allocator has nothing to give back of its own accord.
_HELD = """
from tensorparity.worker.memory import give_back, resident_bytes
before = resident_bytes()
held = [bytearray(b"x" * 5000) for _ in range(40_000)]
full = resident_bytes()
held = held[::100]
freed = resident_bytes()
give_back()
print(full - before, freed - before, resident_bytes() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory is in use")
def test_memory_that_was_freed_goes_back() -> None:
    ended = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, check=True)
    full, freed, left = map(int, ended.stdout.split())
    assert full > 150_000_000
    assert freed > 100_000_000
    assert left < 80_000_000


#: In a process of its own: a worker's adapter, told that it holds too much.
_FORGETFUL = """
import jax
from tensorparity.worker.adapters.keras3 import on_jax
on_jax.resident_bytes = lambda: held
cleared = []
jax.clear_caches = lambda: cleared.append(1)
adapter = on_jax.JaxAdapter.__new__(on_jax.JaxAdapter)
counts = []
for held in (0, 2 * on_jax._MOST_MEMORY):
    adapter._since_forgetting, adapter._programs = 0, ["kept"]
    for _ in range(3 * on_jax._LEAST_BETWEEN):
        adapter._forget()
    counts.append((len(cleared), len(adapter._programs)))
print(counts)
"""


@pytest.mark.jax
def test_compiled_networks_are_forgotten_once_they_are_much_and_not_after_every_job() -> None:
    ended = subprocess.run([sys.executable, "-c", _FORGETFUL], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[(0, 1), (2, 0)]"
