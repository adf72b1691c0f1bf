"""Air chemistry: species that react, and what moves them.

A step of the model moves species along x, y and z, mixes columns, lets each cell react, mixes, and moves along z, y and x.

mechanism_file                        a mechanism from a file
plain_file, openatmos_file            its two formats
mechanism, rates, formulas            its table; its rates in many cells
program, rosenbrock, chemistry        the solver: tables, one step, many cells with steps of their own
conditions, conditions_table          what one cell begins with; the rows of a CSV file of it
chemistry_box                         one cell through hours and days: `steppe box`
advection, winds                      transport by the wind; what comes in over the sides; masses of air through the faces of cells
diffusion                             up and down between the ground and the free air, with emission and deposition
column, light                         levels and how much air they hold; where the sun stands
reactions                             the chemistry of a host's columns, evenly shared
declarations, model                   variables, and the model on a grid
"""

from collections.abc import Iterator, Mapping

import numpy as np

from steppe.errors import closest
from steppe.models.air.conditions import MOST_OF_AIR, MUCH
from steppe.models.air.declarations import EMISSION
from steppe.models.air.model import NANO, Air

MODEL = Air
EXPORTS = ("O3",)
PROPOSED = (  # of [parameters], for `steppe new run`
    'mechanism = "emep66"                       # or a file of yours: plain text (.yaml), or OpenAtmos as MUSICA reads it (.json)',
)


def remarks(model: Air, begun: Mapping[str, object]) -> Iterator[str]:
    """Warnings before a run: fields that are nearly emissions, and species of which there is so much that the unit is most probably a slip.

    begun: name -> what it is set to.
    """
    for name in model.unread:
        if near := closest(name, [EMISSION + species for species in model.mechanism.species]):
            yield f'The meteorology has "{name}", which is not read. Did you mean "{near}"?'
    for name in model.mechanism.species:
        most = float(np.max(np.asarray(begun.get(name, 0.0))))
        if name not in MOST_OF_AIR and most > MUCH * NANO:
            yield f"{name} is set to {most:g} nmol mol-1, {100.0 * most / NANO:.3g} % of the air."
