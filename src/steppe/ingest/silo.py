"""SILO: daily weather of Australia since 1889 on a grid of 0.05 degree, by the Queensland Government. One file a variable and year.

    FOLDER/1990.daily_rain.nc                or FOLDER/daily_rain/1990.daily_rain.nc
    URL/daily_rain/1990.daily_rain.nc        or URL/1990.daily_rain.nc

Jeffrey and others (2001), Environmental Modelling & Software 16, 309-330.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from steppe.errors import ForcingError, RunFileError
from steppe.grid import Grid
from steppe.ingest.cf_file import CfFile
from steppe.ingest.cf_names import PRODUCT_NAMES
from steppe.ingest.download import PAUSE, NotOnServer, fetch
from steppe.ingest.map_choices import Choices
from steppe.ingest.map_series import SHOWN
from steppe.ingest.maps import Product, ingest_maps
from steppe.ingest.provenance import Report

VARIABLES = ("daily_rain", "max_temp", "min_temp", "radiation", "vp", "evap_pan")
DAY_SHIFT: Mapping[str, int] = {"rain": 0, "pan": 0}  # both are read at 9 am and stamped with the day of the reading
FIRST_YEAR = 1889
PRODUCT = Product(
    "steppe ingest silo", "silo", "SILO daily weather", "CC BY 4.0, State of Queensland (SILO); the terms of the files apply."
)


def years_of(text: str) -> range:
    """The years of "1990-1999" or "1990".

    Raises
    ------
    RunFileError
        It is neither.
    """
    first, _, last = text.partition("-")
    if not first.isdigit() or not (last or first).isdigit() or not FIRST_YEAR <= int(first) <= int(last or first) <= 9999:
        raise RunFileError(f'--years "{text}" must be a year or two, the earlier first, from {FIRST_YEAR} on: 1990 or 1990-1999.')
    return range(int(first), int(last or first) + 1)


def fetch_silo(
    url: str,
    folder: Path,
    years: range,
    day_shift: Mapping[str, int],
    progress: Callable[[float], None] | None = None,
    pause: float = PAUSE,
) -> None:
    """Downloads the files of some years that are not in `folder`; a download that broke off goes on where it was.

    Raises
    ------
    ForcingError
        The server has no such file, or the file has no daily maps.
    DamagedError
        A file is cut short on the server.
    Failure
        The connection broke off too often.
    """
    beyond = {name: _neighbours(years, day_shift.get(PRODUCT_NAMES[name], 0)) for name in VARIABLES}
    wanted = [(year, name) for name in VARIABLES for year in (*years, *beyond[name])]
    for done, (year, name) in enumerate(wanted):

        def say(part: float, done: int = done) -> None:
            if progress:
                progress((done + part) / len(wanted))

        try:
            _fetch_one(url, folder, year, name, say, pause)
        except NotOnServer:
            if year in years:
                raise  # the year beside them need not be there: missing days are named when the maps are put together
        say(1.0)


def ingest_silo(
    folder: Path, path: Path, grid: Grid | None, years: range, choices: Choices, progress: Callable[[float], None] | None = None
) -> Report:
    """Makes a forcing store of some years of SILO files; as `ingest_maps`, with the days of the years and SILO's day stamps.

    Raises
    ------
    ForcingError
        Files are missing, or as `ingest_maps` raises.
    """
    if not folder.is_dir():
        raise ForcingError(
            f'There is no folder "{folder}". Give one with files such as {years[0]}.daily_rain.nc, or an address (https://...).'
        )
    shift = {**DAY_SHIFT, **choices.day_shift}
    files, lacking = [], []
    for name in VARIABLES:
        for year in years:
            if file := _find(folder, year, name):
                files.append(file)
            else:
                lacking.append(f"{year}.{name}.nc")
        for year in _neighbours(years, shift.get(PRODUCT_NAMES[name], 0)):
            files += filter(None, [_find(folder, year, name)])
    if lacking:
        shown = ", ".join(lacking[:SHOWN]) + (f" and {len(lacking) - SHOWN} more" if len(lacking) > SHOWN else "")
        raise ForcingError(
            f'"{folder}" lacks {len(lacking)} of {len(VARIABLES) * len(years)} files: {shown}. Add them, or take other years.'
        )
    start, end = choices.start or f"{years[0]}-01-01", choices.end or f"{years[-1]}-12-31"
    return ingest_maps(files, path, grid, choices._replace(day_shift=shift, start=start, end=end), PRODUCT, progress)


def _neighbours(years: range, shift: int) -> list[int]:
    """The neighbouring year, from which a shift takes days."""
    return [years[-1] + 1] if shift < 0 else [years[0] - 1] if shift > 0 else []


def _find(folder: Path, year: int, name: str) -> Path | None:
    for path in (folder / f"{year}.{name}.nc", folder / name / f"{year}.{name}.nc"):
        if path.is_file():
            return path
    return None


def _fetch_one(url: str, folder: Path, year: int, name: str, progress: Callable[[float], None], pause: float) -> None:
    """Downloads one file: from the folder of the variable, as SILO has it, or from the folder of all files."""
    if _find(folder, year, name):
        return
    target = folder / f"{year}.{name}.nc"
    address = url.rstrip("/")
    try:
        fetch(f"{address}/{name}/{year}.{name}.nc", target, _check, progress, pause)
    except NotOnServer as error:
        try:
            fetch(f"{address}/{year}.{name}.nc", target, _check, progress, pause)
        except NotOnServer:
            raise error from None


def _check(path: Path) -> None:
    """Raises if a file cannot be opened, or has no maps."""
    CfFile(path).close()
