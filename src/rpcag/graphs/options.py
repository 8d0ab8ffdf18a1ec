"""Numbers that options may be, for the checks of scikit-learn."""

import math
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval


class Range(Interval):
    """An interval without True, False and numbers beyond floats."""

    def is_satisfied_by(self, val) -> bool:
        if not isinstance(val, (int, float, np.number)) or isinstance(val, bool):
            return False
        try:
            is_finite = self.type is Integral or math.isfinite(val)
        except (OverflowError, TypeError):  # TypeError: complex numbers
            return False
        return is_finite and super().is_satisfied_by(val)


COUNT = Range(Integral, 1, None, closed="left")
NUMBER = Range(Real, 0, None, closed="left")
POSITIVE = Range(Real, 0, None, closed="neither")
FRACTION = Range(Real, 0, 1, closed="neither")
