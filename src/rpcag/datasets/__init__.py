"""The paper's data sets, and one's own in the same form."""

from rpcag.datasets.catalog import Entry, list_datasets
from rpcag.datasets.folder import load_folder
from rpcag.datasets.loading import load, load_video
from rpcag.datasets.records import Data, Video

__all__ = [
    "Data",
    "Entry",
    "Video",
    "list_datasets",
    "load",
    "load_folder",
    "load_video",
]
