"""The example of tracers on levels in a folder, with its winds."""

import runpy
from pathlib import Path

import xarray

from tests.scenario import EXAMPLES


def winds() -> xarray.Dataset:
    """Those of the example."""
    found: xarray.Dataset = runpy.run_path(str(EXAMPLES / "make_winds.py"))["winds"]()
    return found


def made(folder: Path) -> Path:
    """Writes the winds and the run file; gives that. A checkpoint every two hours."""
    winds().to_zarr(folder / "winds.zarr", consolidated=False)
    text = (EXAMPLES / "tracers.toml").read_text()
    for old, new in (
        ("../runs/winds.zarr", "winds.zarr"),
        ("../runs/tracers", "out"),
        ('"tracers.py"', f'"{EXAMPLES / "tracers.py"}"'),
        ("[output]", '[engine]\ncheckpoint = "2 hours"\n\n[output]'),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "run.toml").write_text(text)
    return folder / "run.toml"
