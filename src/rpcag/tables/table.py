"""Base class of the estimators of tables with missing values."""

import numpy as np
from sklearn.utils.validation import validate_data

from rpcag.graphs.builder import Estimator
from rpcag.graphs.inputs import as_numbers, explained


class TableEstimator(Estimator):
    """Reads tables, with NaN where a value is missing."""

    def _read(self, X, reset: bool) -> np.ndarray:
        """X in floats; the options are checked first if it is that of `fit`."""
        if reset:
            self._validate_params()
        with explained(missing=True):
            return validate_data(
                self,
                as_numbers(X),
                reset=reset,
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite="allow-nan",
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
