"""From the bytes of a file to text."""

import gzip
import re
from pathlib import Path

from rpcag.files.readable import readable

GZIP = b"\x1f\x8b"
BINARY = {b"PAR1": "Parquet", b"PK\x03\x04": "Excel"}
# Byte order marks. Longer ones come first: that of UTF-32 starts with that of UTF-16.
MARKS = {
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
    b"\xef\xbb\xbf": "utf-8",
}
# A UTF-8 character beyond ASCII, or a byte that Windows-1252 does not define.
NOT_WESTERN = re.compile(rb"[\xc2-\xf4][\x80-\xbf]|[\x81\x8d\x8f\x90\x9d]")


def decode(data: bytes, name: object) -> tuple[str, bytes, str, list[str]]:
    """The text of a file, its byte order mark, its encoding, and notes.

    The file may be compressed by gzip. Text is UTF-8, or the encoding of the mark.
    Other text is read as Windows-1252, which spreadsheets write. Almost any bytes are
    valid in it, so a wrong byte in a file with UTF-8 characters is an error.
    """
    if data.startswith(GZIP):
        with readable(Path(str(name)), "gzip"):
            data = gzip.decompress(data)
    for start, kind in BINARY.items():
        if data.startswith(start):
            raise ValueError(f"{name} is not text but {kind}; name it as a file")
    mark = next((mark for mark in MARKS if data.startswith(mark)), b"")
    codec = MARKS.get(mark, "utf-8")
    if codec == "utf-8" and b"\0" in data[:4096]:
        raise ValueError(
            f"{name} is not a text file, or is UTF-16 without a byte order mark; save "
            "it as UTF-8"
        )
    try:
        return data[len(mark) :].decode(codec), mark, codec, []
    except UnicodeDecodeError as error:
        if codec != "utf-8":
            raise ValueError(
                f"{name} is marked as {codec[:6].upper()} but damaged; save it as UTF-8"
            ) from error
        place = len(mark) + error.start
    line, byte = data.count(b"\n", 0, place) + 1, f"byte 0x{data[place]:02x}"
    if NOT_WESTERN.search(data):
        raise ValueError(
            f"{name}, line {line}: the {byte} is not UTF-8; correct it, or save the "
            "file as UTF-8"
        )
    note = (
        f"line {line} has the {byte}, which is not UTF-8: the file was read as "
        "Windows-1252 (Latin-1); if names look wrong, save it as UTF-8"
    )
    return data.decode("cp1252"), b"", "cp1252", [note]
