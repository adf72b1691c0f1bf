"""`steppe doctor`: whether Steppe runs here, also where something is missing or damaged."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from steppe.errors import Exit
from tests.comm.mpis import PYTHONS
from tests.shared import SHARED


def doctor(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Runs it as a process of its own that imports from `folder` first."""
    env = {**os.environ, "PYTHONPATH": str(folder), **environment}
    done = subprocess.run([sys.executable, "-m", "steppe", "doctor", *arguments], cwd=folder, env=env, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def line(said: str, name: str) -> str:
    (found,) = (each for each in said.splitlines() if each[2:].startswith(f"{name} "))
    return found


def test_where_all_is_there_it_says_so_and_where(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path / "cache"))
    code, said, wrong = call("doctor")
    assert (code, wrong) == (Exit.DONE, "")
    assert said.splitlines()[-1] == "Steppe runs here."
    assert line(said, "python").endswith(sys.executable)
    for name in ("packages", "compiler", "cache", "MPI", "cores", "memory", "working folder", "film", "geotiff", "notebook"):
        assert line(said, name)[0] == "+"
    assert str(tmp_path / "cache" / "kernels") in line(said, "cache")
    assert "mpiexec" in line(said, "MPI")
    assert not (tmp_path / "cache").exists()  # it changes nothing


def test_what_is_found_is_json_too(call):
    code, said, wrong = call("doctor", "--json")
    assert (code, wrong) == (Exit.DONE, "")
    found = json.loads(said)
    assert found["runs"]
    assert {each["name"] for each in found["findings"]} > {"python", "compiler", "browser", "notebook"}
    assert {each["state"] for each in found["findings"]} <= {"there", "missing"}


def test_packages_that_are_not_installed_are_named_with_the_command(tmp_path):
    about = Path(str(distribution("steppe")._path))
    shutil.copytree(about, tmp_path / about.name)
    metadata = tmp_path / about.name / "METADATA"
    more = "Requires-Dist: an-extra-package; extra == 'film'\nRequires-Dist: fsspec[no-such-extra,http]; extra == 'film'\n"
    metadata.write_text(metadata.read_text().replace("Requires-Dist: numba", f"{more}Requires-Dist: numba", 1))
    code, said = doctor(tmp_path)
    assert code == Exit.DONE
    film = line(said, "film")
    assert film.startswith("- film ")
    assert "an-extra-package" in film
    assert film.endswith('pip install ".[film]"')
    metadata.write_text(metadata.read_text().replace("Requires-Dist: numba", "Requires-Dist: no-such-package>=2\nRequires-Dist: numba", 1))
    code, said = doctor(tmp_path)
    assert code == Exit.FAILURE
    assert line(said, "packages").startswith("! packages ")
    assert "no-such-package not installed. Type in the clone of Steppe: pip install ." in said
    assert said.splitlines()[-1] == "Steppe does not run here: see packages."


def test_a_damaged_package_is_one_finding_and_hides_no_other(tmp_path):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text('raise ImportError("libsvml.so: file too short")')
    code, said = doctor(tmp_path)
    assert code == Exit.FAILURE
    assert line(said, "compiler").startswith("! compiler ")
    assert "ImportError: libsvml.so: file too short" in line(said, "compiler")
    assert line(said, "MPI")[0] == line(said, "cache")[0] == "+"
    assert said.splitlines()[-1] == "Steppe does not run here: see compiler."


def test_without_mpi_steppe_runs_and_the_advice_is_there(tmp_path):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text('raise ImportError("no libmpi.so")')
    code, said = doctor(tmp_path)
    assert code == Exit.DONE
    assert line(said, "MPI").startswith("- MPI ")
    assert "`pip install mpich`" in line(said, "MPI")


def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    code, said = doctor(tmp_path, STEPPE_CACHE="/proc/cache")
    assert code == Exit.DONE
    assert line(said, "cache").startswith("- cache ")
    assert "/proc/cache/kernels: " in line(said, "cache")
    assert "STEPPE_CACHE" in line(said, "cache")


@pytest.mark.parametrize(("given", "sign"), [("", "-"), ("python %s", "+")])
def test_a_browser_is_looked_for_as_serve_opens_it(tmp_path, given, sign):
    said = doctor(tmp_path, BROWSER=given, PATH="/nowhere" if sign == "-" else os.environ["PATH"])[1]
    assert line(said, "browser")[0] == sign


def test_the_tests_that_would_be_skipped_are_those_of_the_tests(tmp_path):
    said = doctor(tmp_path)[1]
    signs = {name: line(said, f"tests: {name}")[0] for name in ("real weather", "other MPI libraries", "the page in a browser")}
    assert signs["real weather"] == ("+" if SHARED.is_dir() else "-")
    assert signs["other MPI libraries"] == ("+" if all(python.exists() for python in PYTHONS.values()) else "-")
    skipped = line(doctor(tmp_path, STEPPE_SHARED=str(tmp_path / "none"))[1], "tests: real weather")
    assert skipped.startswith("- ")
    assert "skipped, no folder" in skipped
    assert "STEPPE_SHARED" in skipped
