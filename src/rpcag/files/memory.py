"""Refuse data that cannot fit in memory before any of it is allocated."""

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
NAME = 70  # bytes that Python needs for the name of a row or column


def check_fits(needed: float, what: str) -> None:
    """Raise a ValueError if `what` needs more bytes than the machine has free."""
    free = available()
    if free is not None and needed > free:
        raise ValueError(
            f"{what} needs {_size(needed)} of memory, but only {_size(free)} is free; "
            "keep fewer rows or columns, or use a machine with more memory"
        )


def available() -> float | None:
    """Bytes that this process can still allocate, or None if unknown."""
    found = [_machine(), _container(), _process()]
    return min((limit for limit in found if limit is not None), default=None)


def _machine() -> float | None:
    try:
        with open("/proc/meminfo") as file:
            facts = dict(line.split(":", 1) for line in file)
        return 1024.0 * int(facts["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _container() -> float | None:
    """The limit of a container (cgroup version 2), minus the memory in use."""
    try:
        limit = float((CGROUP / "memory.max").read_text())  # "max" without a limit
        used = float((CGROUP / "memory.current").read_text())
        words = (CGROUP / "memory.stat").read_text().split()
        cached = float(words[words.index("inactive_file") + 1])
    except (OSError, ValueError, IndexError):
        return None
    return limit - used + cached


def _process() -> float | None:
    """The limit of ``ulimit -v``, minus the address space in use."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return float(limit - pages * resource.getpagesize())
    except (ImportError, OSError, ValueError):
        return None


def _size(count: float) -> str:
    return f"{max(count, 0) / 1e9:.1f} GB"
