"""Fill missing values of tables, find wrong cells and unusual rows, repair tables."""

from rpcag.tables.detector import OutlierDetector
from rpcag.tables.imputer import RobustImputer
from rpcag.tables.repair import Repaired, repair_matrix

__all__ = ["OutlierDetector", "Repaired", "RobustImputer", "repair_matrix"]
