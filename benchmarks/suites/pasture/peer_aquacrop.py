"""A season of AquaCrop on a small raster by aquacrop-grid, which users of gridded crop models have today. Runs in the peers' environment.

Prints JSON: cell-days a second of wall-clock time and of CPU time, for each round. Only days from planting to harvest are counted.
"""

# mypy: disable-error-code="import-not-found"
# The libraries are in an environment that mypy does not see.

import json
import sys
import time
from typing import Any

import numpy as np
from aquacrop import Crop, Soil
from aquacrop_grid.engine.run import run_grid_arrays
from aquacrop_grid.io.synthetic import synthetic_weather_grid
from aquacrop_grid.kernels.constants import OF_DAP_END
from aquacrop_grid.params import co2_concentration_for_year, crop_params_array, initial_water_content, soil_params

DAYS, SIDE = 365, 64  # of the weather, of the raster
NAMES = {"tmin": "tmin", "tmax": "tmax", "prcp": "precip", "et0": "eto"}


def inputs(side: int) -> dict[str, Any]:
    weather = synthetic_weather_grid("2019-05-01", DAYS, side, side)
    crop, soil = Crop("Maize", planting_date="05/15"), Soil("SandyLoam")
    parameters, profile = soil_params(soil, zmax=crop.Zmax)
    flat = {name: weather[of].values.reshape(DAYS, side * side).astype(np.float64) for name, of in NAMES.items()}
    return {
        **flat,
        "plant_idx": np.random.default_rng(1).integers(0, 21, side * side),
        "cp": crop_params_array(crop, co2_conc=co2_concentration_for_year(2019)),
        "sp": parameters,
        "profile": profile,
        "th_init": initial_water_content(soil, "FC"),
    }


def main(rounds: int) -> None:
    run_grid_arrays(**inputs(4))  # compiles
    given = inputs(SIDE)
    wall, cpu = [], []
    for _ in range(rounds):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        final, _ = run_grid_arrays(**given)
        seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - begin_cpu
        cell_days = float(final[:, OF_DAP_END].sum())
        wall.append(cell_days / seconds)
        cpu.append(cell_days / cpu_seconds)
    json.dump({"wall": wall, "cpu": cpu}, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
