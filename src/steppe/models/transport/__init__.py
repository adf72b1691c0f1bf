"""Transport: tracers that go with the wind on the sphere, in steps of any length.

A step asks of each cell where its air was a step before, and what there was (semi-Lagrangian transport, as in NCAR's Community Climate
Model; D'Azevedo, Drake and others 1994 had the wind in global arrays, so that a path may begin anywhere). It is stable for any step.

paths            where the air comes from
interpolation    what there was: schemes `best` and `ccm`
mass             mass is kept exact
sphere, levels   the tables of the grid; the vertical coordinate
vertical         the wind through the levels, from omega
winds, forms     winds and tracers of known cases
tracers          the table of tracers of a run file
advection        the arrays in which all ranks read
"""

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from steppe.levels import parted
from steppe.models.declare import Pick
from steppe.models.transport.model import Transport

MODEL = Transport
EXPORTS = ("hills",)
PROPOSED = (  # of [parameters], for `steppe new run`
    'tracers = { hills = "hills" }              # name = form: hills, bells, slotted, zero, one, "age of air"; or a table with',
    "#                                          # initial, half_life, source, levels, box, units",
)


def choose(available: Collection[str]) -> Mapping[str, Pick]:
    """What follows from the winds of a run. available: their names."""
    found = {"wind": Pick("forcing", "the run has winds")} if "u" in available else {}
    if found and "omega" not in available:
        found["vertical"] = Pick("none", "there is no vertical motion: the winds hold no omega")
    return found


def remarks(model: Transport, begun: Mapping[str, object]) -> Iterator[str]:
    """Warnings before a run: tracers that nothing makes or that are negative. begun: what [initial] or an event sets -> its value."""
    for tracer in model.tracers:
        least = [float(np.min(np.asarray(value))) for name, value in begun.items() if parted(name)[0] == tracer.name]
        if min(least, default=0.0) < 0.0:
            yield f'Tracer "{tracer.name}" is set to values below 0, {min(least):g} at least.'
        if tracer.bare and not least:
            yield (
                f'Tracer "{tracer.name}" is 0 everywhere: it has no form, no source and no [initial]. Write in [parameters.tracers] '
                f'{tracer.name} = "hills", say, or {tracer.name} = "zero" if it shall begin so.'
            )
