"""Keeps the mass of tracers exact, which interpolation does not.

ccm     what interpolation changed most is changed most again (Rasch and Williamson 1990, Q. J. R. Meteorol. Soc. 116); a value may leave
        the range of its tracer by a little
best    each value moves toward the greatest or the least one before the step, as far as interpolation changed it and as far as it is from
        there (after Bermejo and Conde 2002, Mon. Weather Rev. 130); no value leaves that range

Sums know no order, so results have the same bits on any number of ranks.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.models.handed import Reach

Floats = NDArray[np.float64]
MOST = 0.1  # the part of a value that the fixer of CCM may change


def fix_ccm(reach: Reach, old: Floats, new: Floats, before: Floats, after: Floats, eta: Any) -> None:
    """Changes `new` so that its mass is that of `old`. Both (levels, y, x); before, after: mass of air of the cells, of the same shape.

    eta: factor of the change, by level.
    """
    change = eta * np.abs(new - old)
    had, has, weight = reach.total(before * old, after * new, after * new * change)
    if weight != 0.0:
        ratio = (had - has) / weight
        new *= 1.0 + np.copysign(np.minimum(MOST, np.abs(ratio) * change), ratio)


def fix_best(reach: Reach, old: Floats, new: Floats, before: Floats, after: Floats) -> None:
    """As `fix_ccm`, but no value of `new` is greater or less than all of `old`, on any rank."""
    highest, lowest = reach.largest(old, -old)
    had, has = reach.total(before * old, after * new)
    room = ((highest if had > has else -lowest) - new) * np.abs(new - old)
    weight = reach.total(after * room)
    if weight != 0.0:
        room *= (had - has) / weight
        new += room
        np.clip(new, -lowest, highest, out=new)
