"""Files of the layout of SILO's annual grids (0.05 degree, 841 x 681 points, a map a chunk), of made-up weather: for timing an ingest.

.venv/bin/python -m benchmarks.programs.silo_year FOLDER [--years 1990] [--days 365]       writes FOLDER/1990.daily_rain.nc ...
.venv/bin/python -m benchmarks.programs.silo_year FOLDER --ingest                          ingests them; prints seconds and memory
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import netCDF4
import numpy as np

LAT, LON = np.round(-44.0 + 0.05 * np.arange(681), 2), np.round(112.0 + 0.05 * np.arange(841), 2)
# name in the file -> unit, mean, change with latitude, roughness; as a store of SILO has them
PRODUCT = {
    "daily_rain": ("mm", -6.0, 0.0, 12.0),
    "max_temp": ("Celsius", 34.0, 0.35, 1.5),
    "min_temp": ("Celsius", 18.0, 0.35, 1.5),
    "vp": ("hPa", 18.0, 0.4, 2.0),
    "radiation": ("MJ m-2", 21.0, 0.2, 3.0),
    "evap_pan": ("mm", 6.0, 0.1, 1.5),
}


def land() -> np.ndarray:
    """Land of the box as the built-in grid has it, from the south: boolean (lat, lon)."""
    from steppe.grid import BUILTIN, builtin_grid

    if "australia" in BUILTIN:
        return builtin_grid("australia").active[::-1]
    return ((LAT[:, None] + 26.5) / 13.0) ** 2 + ((LON[None, :] - 133.0) / 20.0) ** 2 < 1.0


def smooth(numbers: np.random.Generator) -> np.ndarray:
    """A smooth field of unit variance: waves of 200 to 3,000 km, (lat, lon) float32."""
    field = np.zeros((LAT.size, LON.size), np.float32)
    for _ in range(12):
        (along, across), phase = numbers.normal(0.0, 0.5, 2).tolist(), numbers.uniform(0.0, 6.28)
        y, x = np.exp(1j * along * LAT), np.exp(1j * (across * LON + phase))
        field += (y[:, None] * x[None, :]).real.astype(np.float32) / np.float32(6.0**0.5)
    return field


def write(folder: Path, year: int, days: int, names: list[str] | None = None) -> None:
    """Writes the files of a year."""
    folder.mkdir(parents=True, exist_ok=True)
    sea = ~land()
    for name in names or PRODUCT:
        units, mean, slope, rough = PRODUCT[name]
        numbers = np.random.default_rng(sum(map(ord, name)) + year)
        with netCDF4.Dataset(folder / f"{year}.{name}.nc", "w") as file:
            for dim, values, unit in (("lat", LAT, "degrees_north"), ("lon", LON, "degrees_east")):
                file.createDimension(dim, values.size)
                file.createVariable(dim, "f8", (dim,))[:] = values
                file[dim].units = unit
            file.createDimension("time", days)
            file.createVariable("time", "i4", ("time",))[:] = np.arange(days)
            file["time"].units, file["time"].calendar = f"days since {year}-01-01", "standard"
            chunks = (1, LAT.size, LON.size)
            values = file.createVariable(name, "i2", ("time", "lat", "lon"), zlib=True, complevel=4, fill_value=-32767, chunksizes=chunks)
            values.units, values.scale_factor, values.add_offset = units, 0.1, 0.0
            values.set_auto_maskandscale(False)
            base, fields = mean + slope * (LAT[:, None] + 27.0), [smooth(numbers) for _ in range(6)]
            for day in range(days):
                season = np.cos(2.0 * np.pi * (day - 15) / 365.0)
                field = sum(np.float32(weight) * one for weight, one in zip(numbers.normal(0.0, 0.4, 6), fields, strict=True))
                map_ = base + (0.0 if name == "daily_rain" else 0.25 * abs(mean) * season) + rough * field
                map_ += 0.05 * rough * numbers.standard_normal(map_.shape, np.float32)
                raw = np.rint(np.maximum(map_, -30.0 if name.endswith("temp") else 0.0) * 10.0).astype(np.int16)
                raw[sea] = -32767
                values[day] = raw


def main() -> None:
    """Writes or ingests."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--years", type=int, nargs="+", default=[1990])
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--region", default="australia")
    parser.add_argument("--ingest", action="store_true")
    asked = parser.parse_args()
    if not asked.ingest:
        for year in asked.years:
            write(asked.folder, year, asked.days)
        return
    store = asked.folder / f"{asked.region}.zarr"
    subprocess.run(["rm", "-rf", str(store)], check=True)
    command = [sys.executable, "-m", "steppe", "ingest", "netcdf", *map(str, sorted(asked.folder.glob("*.nc"))), "-o", str(store)]
    shift = ["--day-shift", "rain=0", "--day-shift", "pan=0", "--mask", "intersect"]
    begin = time.perf_counter()
    subprocess.run([*command, *shift, "--region", asked.region], check=True)
    wall = time.perf_counter() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    source = sum(file.stat().st_size for file in asked.folder.glob("*.nc"))
    stored = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1000
    print(f"{wall:.1f} s, {cpu:.1f} s of CPU, {memory:.0f} MB at most; {source:,} -> {stored:,} bytes")


if __name__ == "__main__":
    main()
