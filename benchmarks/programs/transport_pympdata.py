"""Gaussian hills in Lauritzen's (2012) non-divergent flow by PyMPDATA, one thread: 3 passes, non-oscillatory.

Runs in the peers' environment. `python transport_pympdata.py 60 120` prints JSON for each number of rows: steps, seconds (wall clock) and
cpu, l2, mass (its relative change), least, most. Times are of the advection alone: without compilation, wind, and the cost of a call.

Rows are equally spaced in the sine of latitude: all cells have the same area and no `g_factor` is needed. On equal latitudes with the
`g_factor` of the library's spherical example the error is larger (on 60 rows l2 0.50, here 0.43): the corrective passes of 1.7.3 do not
divide their quadratic terms by it. They find velocities of 0 beyond a pole (Polar); the hills stay away from both.
"""

# mypy: disable-error-code="import-not-found"
# The libraries are in an environment that mypy does not see.

import json
import sys
import time

import numpy as np
from PyMPDATA import Options, ScalarField, Solver, Stepper, VectorField
from PyMPDATA.boundary_conditions import Periodic, Polar
from PyMPDATA.impl.meta import META_HALO_VALID

PERIOD, STEPS_A_COLUMN = 5.0, 5  # the greatest sum of both Courant numbers is 0.83


def run(rows: int) -> dict[str, float]:
    columns = 2 * rows
    steps = STEPS_A_COLUMN * columns
    dt, along, across = PERIOD / steps, 2.0 * np.pi / columns, 2.0 / rows
    lon, sine = np.meshgrid(along * np.arange(columns + 1), across * np.arange(rows + 1) - 1.0, indexing="ij")  # of the corners of cells
    lon_inside, sine_inside = lon[1:, 1:] - along / 2.0, sine[1:, 1:] - across / 2.0
    cosine = np.sqrt(1.0 - sine_inside**2)
    hills = sum(0.95 * np.exp(-10.0 * (1.0 - cosine * np.cos(lon_inside - centre))) for centre in (5.0 * np.pi / 6.0, 7.0 * np.pi / 6.0))

    def courant(t: float) -> tuple[np.ndarray, np.ndarray]:
        """Courant numbers from the stream function at the corners: free of divergence to the last bits."""
        wave = 10.0 * np.cos(np.pi * t / PERIOD) * np.sin(lon - 2.0 * np.pi * t / PERIOD) ** 2 * (1.0 - sine**2)
        stream = (wave - 2.0 * np.pi * sine) / PERIOD * dt / (along * across)
        return -np.diff(stream, axis=1), np.diff(stream, axis=0)

    options = Options(n_iters=3, nonoscillatory=True)
    more = {"halo": options.n_halo, "boundary_conditions": (Periodic(), Polar((columns, rows), 0, 1))}
    solver = Solver(
        stepper=Stepper(options=options, n_dims=2, n_threads=1),
        advectee=ScalarField(data=hills.copy(), **more),
        advector=VectorField(data=courant(0.0), **more),
    )
    solver.advance(0)  # compiles
    spent = np.zeros(2)
    for step in range(steps):
        for component, values in enumerate(courant((step + 0.5) * dt)):
            solver.advector.get_component(component)[:] = values
        solver.advector.meta[META_HALO_VALID] = False  # otherwise its halo stays that of the first step
        moments = [(time.perf_counter(), time.process_time())]
        for n_steps in (0, 1):
            solver.advance(n_steps)
            moments.append((time.perf_counter(), time.process_time()))
        spent += np.diff(moments, n=2, axis=0)[0]
    q = solver.advectee.get()
    return {
        "rows": rows,
        "steps": steps,
        "seconds": spent[0],
        "cpu": spent[1],
        "l2": float(np.sqrt(((q - hills) ** 2).sum() / (hills**2).sum())),
        "mass": float(q.sum() / hills.sum() - 1.0),
        "least": float(q.min()),
        "most": float(q.max()),
    }


if __name__ == "__main__":
    json.dump([run(int(rows)) for rows in sys.argv[1:]], sys.stdout)
