"""The evaluation of the paper on real data: run it, stop it, resume it, report it."""

from rpcag_study.corruptions import CORRUPTIONS
from rpcag_study.model_input import ModelInput
from rpcag_study.plan import DATASETS, IMAGES, Study
from rpcag_study.runner import missing, run
from rpcag_study.runs import Run, Task
from rpcag_study.store import Store

__version__ = "0.1.0"
__all__ = [
    "CORRUPTIONS",
    "DATASETS",
    "IMAGES",
    "ModelInput",
    "Run",
    "Store",
    "Study",
    "Task",
    "__version__",
    "missing",
    "run",
]
