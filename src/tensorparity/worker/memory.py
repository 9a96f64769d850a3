"""How much memory this process holds, and giving back what it holds for nothing."""

import ctypes
import gc
import os


def resident_bytes():
    """Return the memory that is in use now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def give_back():
    """Return freed memory to the system: the allocator keeps small pieces for later."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # an allocator of another system
        pass
