"""Data sets in memory: samples with classes, folders of images, synthetic sensors."""

from rpcag.datasets.folder import load_folder
from rpcag.datasets.records import Data
from rpcag.datasets.sensors import make_sensors

__all__ = ["Data", "load_folder", "make_sensors"]
