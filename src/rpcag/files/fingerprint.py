"""What an input was, so that a result can be traced to it."""

import hashlib
from pathlib import Path


def fingerprint(path: Path) -> str:
    """SHA-256 of a file; of a folder, over the names and contents of its files."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    total = hashlib.sha256()
    for member in sorted(path.rglob("*")):
        if member.is_file():
            total.update(f"{member.relative_to(path).as_posix()}\0".encode())
            total.update(fingerprint(member).encode())
    return total.hexdigest()
