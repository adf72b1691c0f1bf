"""The examples of transport in a folder: small, with their winds."""

import runpy
from pathlib import Path

import xarray

from tests.scenario import EXAMPLES


def globe(rows: int, levels: int, hours: float = 6.0) -> xarray.Dataset:
    """The winds of transport_winds.toml on another grid."""
    found: xarray.Dataset = runpy.run_path(str(EXAMPLES / "make_winds.py"))["globe"](rows, levels, hours)
    return found


def made(name: str, folder: Path, rows: int = 16) -> Path:
    """Writes the run file of an example on a Gaussian grid of so many rows, and its winds; gives the run file."""
    text = (EXAMPLES / name).read_text()
    for old, new in (("gaussian = 64", f"gaussian = {rows}"), (f'"../runs/{name.partition(".")[0]}"', '"out"'), ("../runs/", "")):
        assert old in text or new == ""
        text = text.replace(old, new)
    if name == "transport_winds.toml":
        globe(rows, 18).to_zarr(folder / "globe.zarr", consolidated=False)
    (folder / "run.toml").write_text(text)
    return folder / "run.toml"
