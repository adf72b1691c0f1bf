"""What a command does not import: that is why it is there at once."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from steppe.grid.keep import kept as kept_grid
from tests.scenario import write_mask

NAMED = """
import sys
from steppe.cli import run_command
run_command(sys.argv[1:])
print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""
BEFORE_ITS_FIRST_STEP = """
import contextlib
import sys
from steppe.engine import Event
from steppe.cli import progress, run_command

def tell(event: Event) -> None:
    if event.kind == "progress" and not seen:
        seen.update({name.partition(".")[0] for name in sys.modules})

seen = set()
progress.progress = lambda *of: contextlib.nullcontext(tell)
run_command(sys.argv[1:])
print(*seen, file=sys.stderr)
"""


def imported(text: str, *arguments: str, cwd: Path) -> set[str]:
    """The packages that a new process holds at the end of `text`."""
    done = subprocess.run([sys.executable, "-c", text, *arguments], cwd=cwd, check=True, capture_output=True, text=True)
    return set(done.stderr.splitlines()[-1].split())


def test_steppe_itself_imports_nothing_but_what_imports_its_names(tmp_path):
    import_only = "import sys, steppe; print(*sys.modules, file=sys.stderr)"
    found = imported(import_only, cwd=tmp_path)
    assert "steppe" in found
    assert [name for name in found if name.startswith("steppe.")] == ["steppe.lazy"]
    assert found - {"steppe", "steppe.lazy"} <= imported(
        "import sys, importlib, typing; print(*sys.modules, file=sys.stderr)", cwd=tmp_path
    )


def test_the_overview_imports_no_command_line(tmp_path):
    found = imported(NAMED, "--help", cwd=tmp_path)
    assert "steppe" in found
    assert not found & {"cyclopts", "rich", "numpy", "pydantic"}


@pytest.mark.parametrize("arguments", [("run", "--help"), ("ingest", "land", "--help"), ("--version",)], ids=" ".join)
def test_the_help_of_a_command_imports_no_numbers(tmp_path, arguments):
    assert not imported(NAMED, *arguments, cwd=tmp_path) & {"numpy", "pydantic", "zarr", "numba", "matplotlib", "xarray"}


def test_check_imports_neither_plotting_nor_tables(on_points):
    found = imported(NAMED, "check", "run.toml", cwd=on_points)
    assert "numpy" in found
    assert not found & {"matplotlib", "pandas", "xarray", "numba"}


def test_a_run_comes_to_its_first_step_without_plotting_tables_and_compiler(on_points):
    found = imported(BEFORE_ITS_FIRST_STEP, "run", "run.toml", "--until", "1990-03-01", cwd=on_points)
    assert "numpy" in found
    assert not found & {"matplotlib", "pandas", "xarray", "rich", "numba"}


def test_a_picture_needs_neither_tables_nor_compiler(on_points):
    imported(NAMED, "run", "run.toml", "--quiet", cwd=on_points)
    found = imported(NAMED, "plot", "out", cwd=on_points)
    assert "matplotlib" in found
    assert not found & {"pandas", "xarray", "numba", "pydantic"}


def test_an_export_needs_neither_tables_nor_pictures(on_points):
    found = imported(NAMED, "export", "weather.zarr", "--netcdf", "a.nc", cwd=on_points)
    assert "netCDF4" in found
    assert not found & {"pandas", "xarray", "numba", "pydantic", "matplotlib", "rasterio"}


def test_a_grid_out_of_a_file_is_read_with_xarray_once_and_again_when_the_file_changes(here, monkeypatch):
    monkeypatch.setenv("STEPPE_CACHE", str(here / "cache"))
    read = "import sys; from steppe.engine.place import open_grid; from steppe.engine.run_file import read_run_file; "
    read += "print(open_grid(read_run_file('run.toml')).n_cells, 'xarray' in sys.modules, file=sys.stderr)"
    assert imported(read, cwd=here) == {"144", "True"}
    assert imported(read, cwd=here) == {"144", "False"}
    shutil.rmtree(here / "mask.zarr")
    write_mask(here / "mask.zarr", np.ones((3, 4), dtype=bool))
    assert imported(read, cwd=here) == {"12", "True"}
    (kept,) = (path for path in (here / "cache" / "grids").iterdir() if kept_grid(path).n_cells == 12)
    kept.write_bytes(kept.read_bytes()[:100])
    assert imported(read, cwd=here) == {"12", "True"}
    assert imported(read, cwd=here) == {"12", "False"}
