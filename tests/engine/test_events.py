"""An event of the run file is one change, in whatever order its values are written."""

import numpy as np
import pytest

from steppe.engine.events import Action
from steppe.errors import ModelError
from steppe.models import pasture
from tests.models.cells import started

WARM = {"base_temperature": 30.0, "lower_optimum": 40.0, "upper_optimum": 48.0}


@pytest.fixture
def pastures():
    return started(pasture, 2)


@pytest.mark.parametrize("names", [list(WARM), list(WARM)[::-1]])
@pytest.mark.parametrize("cells", [None, np.array([1])])
def test_values_that_fit_together_may_be_in_any_order(pastures, names, cells):
    Action(0, {name: WARM[name] for name in names}, cells).apply(pastures, cells)
    found = [np.broadcast_to(pastures.parameters[name], (2,))[1] for name in WARM]
    assert found == list(WARM.values())


def test_values_that_fit_in_no_order_are_refused(pastures):
    with pytest.raises(ModelError, match='"base_temperature" is 30 and "lower_optimum" is 24'):
        Action(0, {"base_temperature": 30.0, "upper_optimum": 48.0}, None).apply(pastures, None)
