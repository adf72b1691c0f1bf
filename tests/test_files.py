"""What is written whole: the order of system calls as the system sees it, failures in the middle, several writers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from steppe.files import write_whole
from steppe.grid import Raster
from steppe.grid.keep import keep, kept

SOURCE = Path(__file__).parents[1] / "src/steppe"
RENAME = re.compile(r"\bos\.(rename|replace|link)\(|\.replace\([^,()=]*\)")
OWN_RENAMES = {  # files that rename by themselves: streams, folders, links and checksums in parts
    *("server/uploads.py", "jobs/examples.py", "cli/new_model.py", "measure/document.py"),
    *("control/compaction.py", "io/forcing_writer.py", "io/shard.py", "io/output.py", "io/export/aside.py"),
    *("io/ingest/download.py", "io/checkpoint.py", "io/folder.py", "io/archive.py"),
}
PLACES = {
    "server.begun": "from steppe.server.begun import Begun; Begun(folder.parent, folder.name, 'anna', 'k', b'{}').note()",
    "status.json": "from steppe.server.runs import _write; _write(folder / 'status.json', {'address': ''})",
    "door.json": "from steppe.control.door import Door; Door.make(folder, 'journal')",
    "engine.toml": "from steppe.control.launch import put_run_file; put_run_file(folder, 'model = 1')",
}


def calls(folder: Path, program: str) -> list[str]:
    """The calls of a program to the system that write, sync or rename below `folder`, in order; descriptors show their paths."""
    if shutil.which("strace") is None:
        assert not os.environ.get("CI"), "strace is not installed"
        pytest.skip("strace is not installed")
    trace, begin = folder / "trace", f"from pathlib import Path; folder = Path({str(folder / 'run')!r}); "
    kinds = "trace=openat,write,fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat"
    subprocess.run(["strace", "-f", "-y", "-s", "8", "-e", kinds, "-o", trace, sys.executable, "-c", begin + program], check=True)
    lines = [line.split(maxsplit=1)[1] for line in trace.read_text().splitlines()]
    return [line for line in lines if str(folder) in line and "ENOENT" not in line]


def kinds_of(lines: list[str], path: Path) -> list[str]:
    """What happens to a file that is written whole, and to its folder, in words."""
    aside = rf"{re.escape(str(path))}\.[0-9]+-[0-9a-f]+\.tmp"
    words = {
        rf'openat\(.*"{aside}", O_WRONLY\|O_CREAT\|O_EXCL': "create",
        rf"write\([0-9]+<{aside}>": "write",
        rf"f(data)?sync\([0-9]+<{aside}>\) += 0": "sync",
        rf'rename.*"{aside}", .*"{re.escape(str(path))}"': "rename",
        rf"fsync\([0-9]+<{re.escape(str(path.parent))}>\) += 0": "sync the folder",
        rf"fsync\([0-9]+<{re.escape(str(path.parent.parent))}>\) += 0": "sync the folder above",
        rf'mkdir.*"{re.escape(str(path.parent))}"': "make the folder",
    }
    return [word for line in lines for pattern, word in words.items() if re.match(pattern, line)]


def test_bytes_are_on_the_disk_before_the_name_and_the_name_before_the_call_returns(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    found = calls(tmp_path, "from steppe.files import write_whole; write_whole(folder / 'a', bytes(100_000))")
    assert kinds_of(found, tmp_path / "run/a") == ["create", "write", "sync", "rename", "sync the folder"]


def test_a_cache_is_renamed_and_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    found = calls(tmp_path, "from steppe.files import write_whole; write_whole(folder / 'a', b'x', durable=False)")
    assert kinds_of(found, tmp_path / "run/a") == ["create", "write", "rename"]


@pytest.mark.parametrize("name", PLACES)
def test_what_a_restart_relies_on_survives_a_loss_of_power(tmp_path: Path, name: str) -> None:
    (tmp_path / "run").mkdir()
    assert kinds_of(calls(tmp_path, PLACES[name]), tmp_path / "run" / name) == ["create", "write", "sync", "rename", "sync the folder"]


def test_a_new_run_folder_survives_it_too(tmp_path: Path) -> None:
    found = kinds_of(calls(tmp_path, PLACES["engine.toml"]), tmp_path / "run/engine.toml")
    assert found[:2] == ["make the folder", "sync the folder above"]
    assert found[2:] == ["create", "write", "sync", "rename", "sync the folder"]


def test_no_other_file_renames_by_itself() -> None:
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if RENAME.search(path.read_text())}
    assert found <= OWN_RENAMES | {"files.py"}, "use steppe.files.write_whole"


def test_only_caches_whose_readers_refuse_a_torn_file_do_not_wait_for_the_disk() -> None:
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if "write_whole(" in path.read_text()}
    hasty = {name for name in found if "durable=False" in (SOURCE / name).read_text()}
    assert hasty == {"grid/keep.py", "kernels/cache.py"}
    assert found >= {
        "engine/happening.py",
        "server/begun.py",
        "server/runs.py",
        "control/door.py",
        "control/launch.py",
    }


def test_a_disk_that_fills_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_whole(path, b"old")
    program = (
        "import resource, sys; from pathlib import Path; from steppe.files import write_whole; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); write_whole(Path(sys.argv[1]), bytes(300_000))"
    )
    ended = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert "File too large" in ended.stderr
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"old")]


def test_a_name_that_cannot_be_replaced_leaves_nothing_aside(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "a", b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_writers_at_the_same_time_never_mix(tmp_path: Path) -> None:
    path, length = tmp_path / "a", 200_000
    program = (
        "import sys; from pathlib import Path; from steppe.files import write_whole\n"
        f"for _ in range(100): write_whole(Path(sys.argv[1]), sys.argv[2].encode() * {length}, durable=False)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, path, letter]) for letter in "xyz"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            content = path.read_bytes()
            assert content in {letter * length for letter in (b"x", b"y", b"z")}
            seen.add(content[:1])
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert seen
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_file_of_its_owner_alone_is_never_open_to_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_whole(tmp_path / "a", b"old")
        write_whole(tmp_path / "a", b"secret", mode=0o600)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_kept_grid_that_a_loss_of_power_tore_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "grid.npz"
    keep(path, Raster(0.0, -0.1, 0.0, 0.1, np.random.default_rng(1).random((200, 300)) < 0.5))
    whole = path.read_bytes()
    assert kept(path) is not None
    for torn in (b"", whole[: len(whole) // 2], whole[:1000] + bytes(512) + whole[1512:], bytes(len(whole))):
        path.write_bytes(torn)
        assert kept(path) is None
