"""The paper's clustering study: every table, on the real data, resumable."""

from rpcag.study.case import Case
from rpcag.study.corruptions import CORRUPTIONS
from rpcag.study.plan import DATASETS, IMAGES, Study
from rpcag.study.runner import missing, run
from rpcag.study.runs import Run, Task
from rpcag.study.store import Store

__all__ = [
    "CORRUPTIONS",
    "DATASETS",
    "IMAGES",
    "Case",
    "Run",
    "Store",
    "Study",
    "Task",
    "missing",
    "run",
]
