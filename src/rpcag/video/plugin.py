"""PyAV, which brings FFmpeg (the extra ``rpcag[video]``), imported when needed."""

from pathlib import Path
from types import ModuleType


def pyav() -> ModuleType:
    try:
        import av
    except ImportError as error:
        raise ImportError(
            "videos and images are read and written with PyAV, which brings FFmpeg: "
            "pip install 'rpcag[video]'"
        ) from error
    # PyAV is silent unless asked, and what is wrong is said by exceptions. Asking, even
    # for little, lets threads of FFmpeg wait for Python's lock, and decoders hang.
    return av


def url(path: Path) -> str:
    """For FFmpeg, to which a:b.mp4 is the place b.mp4 of a protocol called a."""
    return f"file:{path}"
