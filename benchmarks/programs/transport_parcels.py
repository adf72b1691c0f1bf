"""Particles moved by Parcels' AdvectionRK4 in a wind on T42's 64 x 128 points (A-grid, spherical mesh). Runs in the peers' environment.

`python transport_parcels.py ROUNDS` prints JSON: velocity evaluations a second of wall-clock time and of CPU time, for each round.
"""

# mypy: disable-error-code="import-not-found"
# The libraries are in an environment that mypy does not see.

import json
import sys
import time

import numpy as np
import xarray as xr
from parcels import FieldSet, ParticleSet
from parcels.kernels import AdvectionRK4

ROWS, PARTICLES = 64, 147_456  # as many as T42 has points in 18 levels
STEP, STEPS, EVALUATIONS = 1800.0, 4, 4  # seconds; steps a round; evaluations a step


def wind() -> xr.Dataset:
    """A rotation of the Earth's air in 12 days with a wave on it, [m s-1], with the column at 360 degrees and the words of SGRID."""
    latitude = np.degrees(np.arcsin(np.polynomial.legendre.leggauss(ROWS)[0]))
    longitude = np.linspace(0.0, 360.0, 2 * ROWS + 1)
    phi, lam = np.radians(latitude)[:, None], np.radians(longitude)
    values = {"U": 38.6 * np.cos(phi) + 0.0 * lam, "V": 5.0 * np.cos(phi) * np.sin(lam)}
    dims = ("time", "depth", "y", "x")
    topology = {
        "cf_role": "grid_topology",
        "topology_dimension": 2,
        "node_dimensions": "x y",
        "node_coordinates": "lon lat",
        "face_dimensions": "xc:x (padding:low) yc:y (padding:low)",
        "vertical_dimensions": "zc:depth (padding:both)",
    }
    return xr.Dataset(
        {name: (dims, np.broadcast_to(value, (2, 1, *value.shape)).copy()) for name, value in values.items()} | {"grid": ((), 0, topology)},
        coords={
            "time": ("time", np.array([0, 864_000], "timedelta64[s]").astype("timedelta64[ns]"), {"axis": "T"}),
            "depth": ("depth", [0.0], {"axis": "Z"}),
            "y": ("y", np.arange(latitude.size), {"axis": "Y"}),
            "x": ("x", np.arange(longitude.size), {"axis": "X"}),
            "yc": ("yc", np.arange(latitude.size) + 0.5, {"axis": "Y"}),
            "xc": ("xc", np.arange(longitude.size) + 0.5, {"axis": "X"}),
            "lat": ("y", latitude, {"axis": "Y"}),
            "lon": ("x", longitude, {"axis": "X"}),
        },
    )


def main(rounds: int) -> None:
    random = np.random.default_rng(1)
    x, y = random.uniform(100.0, 250.0, PARTICLES), random.uniform(-60.0, 60.0, PARTICLES)
    particles = ParticleSet(FieldSet.from_sgrid_conventions(wind(), mesh="spherical"), x=x, y=y)
    particles.execute(AdvectionRK4, dt=STEP, runtime=STEP, verbose_progress=False)
    evaluations = EVALUATIONS * STEPS * PARTICLES
    wall, cpu = [], []
    for _ in range(rounds):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        particles.execute(AdvectionRK4, dt=STEP, runtime=STEPS * STEP, verbose_progress=False)
        wall.append(evaluations / (time.perf_counter() - begin))
        cpu.append(evaluations / (time.process_time() - begin_cpu))
    seconds = STEP * (1 + STEPS * rounds)
    metres = np.radians(particles.x - x).mean() * 6.371e6  # along their circles they go with a rotation, the wave aside
    assert abs(metres / (38.6 * seconds) - 1.0) < 0.02, "The particles do not go with the wind."
    json.dump({"wall": wall, "cpu": cpu}, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
