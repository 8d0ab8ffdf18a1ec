"""The data sets of the paper: a catalog, and how to load them."""

from rpcag_study.datasets.catalog import Entry, list_datasets
from rpcag_study.datasets.loading import load, load_video
from rpcag_study.datasets.records import Data, Video

__all__ = ["Data", "Entry", "Video", "list_datasets", "load", "load_video"]
