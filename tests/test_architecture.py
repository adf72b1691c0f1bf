"""ARCHITECTURE.md says of the rooms what `scripts/check` holds."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
SOURCE = ROOT / "src" / "steppe"


def layers() -> list[set[str]]:
    """The rooms of each level, the lowest first, as the walls have them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    found = next(each["layers"] for each in contracts if each["type"] == "layers" and each["containers"] == ["steppe"])
    return [{name for name in re.split(r"[ |:]+", layer) if name != "__main__"} for layer in reversed(found)]


def test_the_tree_of_rooms_has_the_levels_of_the_walls() -> None:
    tree = TEXT.split("src/steppe/\n")[1].split("web/")[0]
    rooms: dict[int, set[str]] = {}
    for line in tree.splitlines():
        names, level = re.findall(r"(\w+)(?:/|\.py)", line[:36]), re.search(r" (\d+)  ", line)
        assert level, line
        rooms.setdefault(int(level[1]), set()).update(names)
    assert rooms == dict(enumerate(layers()))


def test_the_table_of_rooms_has_each_room_once() -> None:
    table = TEXT.split("| room | knows | must not know |\n|---|---|---|\n")[1].split("\n\n")[0]
    named = [name for row in table.splitlines() for name in row.split("|")[1].strip().split(", ") if ": " not in name]
    there = [path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    other = {"__init__", "__main__", "failpoint"}
    assert sorted({*named} | other) == sorted({*there} | other)
    assert len(named) == len({*named})


def test_the_twenty_files_to_read_first_are_there() -> None:
    table = TEXT.split("## Twenty files to read first\n")[1].split("## ")[0]
    files = re.findall(r"^\| `([\w/]+\.py)` \|", table, re.MULTILINE)
    assert len({*files}) == 20
    assert [file for file in files if not (SOURCE / file).exists()] == []


PRIVATE = {  # package -> what of it its authors do not promise to keep -> the files that use it
    "numba": {"numba.core": {"kernels/numba_internals.py"}},
    "llvmlite": {},
    "uvicorn": {"uvicorn.protocols": {"server/protocol.py", "server/live/line.py"}},
    "websockets": {"websockets.frames": {"server/live/line.py"}},
}
PROMISED = {  # modules that their documentation names
    *("numba", "numba.extending", "llvmlite", "llvmlite.ir", "llvmlite.binding", "uvicorn"),
    *("websockets.exceptions", "websockets.sync.client", "websockets.asyncio.client"),
}


def imports(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return whole | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def test_the_private_parts_of_a_package_are_used_in_one_place_each() -> None:
    found: dict[str, dict[str, set[str]]] = {package: {} for package in PRIVATE}
    for path in SOURCE.rglob("*.py"):
        for module in imports(path) - PROMISED:
            package, _, _ = module.partition(".")
            if package in PRIVATE:
                part = next((known for known in PRIVATE[package] if module.startswith(known)), module)
                found[package].setdefault(part, set()).add(str(path.relative_to(SOURCE)))
    assert found == PRIVATE


def test_a_package_whose_private_parts_are_used_has_a_newest_version() -> None:
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for package in PRIVATE:
        assert [need for need in needs if re.match(rf"{package}>=[\d.]+,<[\d.]+$", need)], package
