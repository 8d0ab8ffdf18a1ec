"""Refuse data that cannot fit in memory before any of it is allocated."""

import os
from contextlib import suppress
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
NAME = 70  # bytes that Python needs for the name of a row or column


def check_fits(needed: float, what: str) -> None:
    """Raise a ValueError if `what` needs more bytes than the machine has free."""
    free = available()
    if free is not None and needed > free:
        raise ValueError(
            f"{what} needs {needed / 1e9:.1f} GB of memory, but only "
            f"{max(free, 0) / 1e9:.1f} GB is free; keep fewer rows or columns, or use "
            "a machine with more memory"
        )


def available() -> float | None:
    """Bytes that this process can still allocate, or None if unknown."""
    found = []
    with suppress(OSError, KeyError, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        facts = dict(line.split(":", 1) for line in lines)
        found.append(1024.0 * int(facts["MemAvailable"].split()[0]))
    # The limit of a container (cgroup version 2), minus the memory in use.
    with suppress(OSError, ValueError, IndexError):
        limit = float((CGROUP / "memory.max").read_text())  # "max" without a limit
        used = float((CGROUP / "memory.current").read_text())
        words = (CGROUP / "memory.stat").read_text().split()
        found.append(limit - used + float(words[words.index("inactive_file") + 1]))
    # The limit of ``ulimit -v``, minus the address space in use.
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            found.append(limit - pages * resource.getpagesize())
    if not found:
        with suppress(AttributeError, OSError, ValueError):  # Windows
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)
