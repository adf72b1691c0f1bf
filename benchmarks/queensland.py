"""A whole run to measure: Queensland under generated weather, with monthly maps. Stores are made once and kept in `build/bench`.

They have a fast copy in bits, as a person makes it who runs on them often.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.peers import ROOT
from benchmarks.rounds import output

STEPPE = str(Path(sys.executable).with_name("steppe"))
FOLDER = ROOT / "build" / "bench"
OUTPUTS = FOLDER / "outputs"
FIRST_YEAR = 1990
RUN_FILE = """\
model = "pasture"
time = {{ start = {first}-01-01, end = {last}-12-31 }}
grid = {{ region = "queensland" }}
forcing = {{ store = "{store}" }}
parameters = {{ plant = "mitchell", soil = "open-downs", stocking_rate = 0.1, kangaroo_density = 10.0, intake_yield = 300.0 }}

[output]
path = "run-{years}"
variables = ["total_standing_dry_matter", "growth", "rainfall", "soil_water_index", "total_cover", "runoff"]
every = "1 month"

[engine]
threads = 1
"""


def run_file(years: int) -> Path:
    """The run file of this many years; its forcing store is there afterwards."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    last = FIRST_YEAR + years - 1
    store = FOLDER / f"weather-{years}.zarr"
    if not store.exists():
        beside = store.with_suffix(".partial")
        period = ["--start", f"{FIRST_YEAR}-01-01", "--end", f"{last}-12-31"]
        output([STEPPE, "ingest", "generate", str(beside), "--region", "queensland", *period])
        beside.rename(store)
    output([STEPPE, "forcing", "pack", str(store), "--bits"])
    path = FOLDER / f"{years}-years.toml"
    path.write_text(RUN_FILE.format(first=FIRST_YEAR, last=last, store=store.name, years=years))
    return path


def new_output() -> Path:
    """A folder for the results of one run, which stays until all benchmarks have ended.

    ext4 gives no new file the number of one that was removed within minutes, and looks at each of those again for every file that it
    makes: a run of 20 years right after its results of last time were removed took 3.3 s of CPU instead of 2.5.
    """
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=OUTPUTS))


def remove_outputs() -> None:
    """Removes the results of all runs."""
    shutil.rmtree(OUTPUTS, ignore_errors=True)
