"""Scikit-learn's own checks of the imputer and the detector."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rpcag.tables import OutlierDetector, RobustImputer


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([RobustImputer(), OutlierDetector()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
