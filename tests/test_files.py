"""What is written whole: the order of system calls as the system sees it, failures in the middle, several writers."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from steppe.errors import Failure
from steppe.files import LockedError, lock, take, write_whole
from steppe.grid import Raster
from steppe.grid.keep import keep, kept
from tests import on_disk

tmp_path = on_disk.tmp_path

SOURCE = Path(__file__).parents[1] / "src/steppe"
RENAMES = {"os.rename", "os.renames", "os.replace", "shutil.move", "fcntl.flock", "fcntl.lockf"}
METHODS = {"rename", "replace"}  # of a Path with one argument; text takes two
PLACES = {
    "server.begun": "from steppe.service.begun import Begun; Begun(folder.parent, folder.name, 'anna', 'k', b'{}').note()",
    "status.json": "from steppe.server.runs import _write; _write(folder / 'status.json', {'address': ''})",
    "door.json": "from steppe.control.rendezvous import Rendezvous; Rendezvous.make(folder, 'journal')",
    "engine.toml": "from steppe.control.rendezvous import put_run_file; put_run_file(folder, 'model = 1')",
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


def by_itself(path: Path) -> list[str]:
    """The calls of a source file that rename or lock."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    methods = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS]
    alone = [ast.unparse(call) for call in methods if len(call.args) == 1 and not call.keywords]
    return [ast.unparse(call.func) for call in calls if ast.unparse(call.func) in RENAMES] + alone


def test_no_other_file_renames_or_locks_by_itself() -> None:
    found = {str(path.relative_to(SOURCE)): calls for path in SOURCE.rglob("*.py") if (calls := by_itself(path))}
    assert found.pop("files.py") == ["os.replace", "fcntl.flock"]
    assert found == {"client/labels.py": ["whole.rename(variable.name)"]}, "use steppe.files; this one gives an array of xarray a name"


def test_only_what_needs_no_restart_is_renamed_without_waiting_for_the_disk() -> None:
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if re.search(r"\bplace\(.*durable=False", path.read_text())}
    # a fork: its parent is enough to make it again, until its first checkpoint; a memory file: it waits itself, behind a failpoint
    assert found == {"io/folders/folder.py", "arrays/disk.py"}


def test_only_caches_whose_readers_refuse_a_torn_file_do_not_wait_for_the_disk() -> None:
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if "write_whole(" in path.read_text()}
    hasty = {name for name in found if "durable=False" in (SOURCE / name).read_text()}
    assert hasty == {"grid/keep.py", "kernels/cache.py"}
    assert found >= {
        "engine/rule_runner.py",
        "service/begun.py",
        "server/runs.py",
        "control/rendezvous.py",
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


def test_what_a_killed_process_left_aside_under_a_fixed_name_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.tmp").write_bytes(b"torn, and longer")
    write_whole(tmp_path / "a", [b"ne", b"w"], aside=tmp_path / "a.tmp")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"new")]


def test_a_file_that_is_replaced_is_on_the_disk_before_its_name_though_the_name_may_wait(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/a").write_bytes(b"old")
    found = calls(tmp_path, "from steppe.files import write_whole; write_whole(folder / 'a', b'x', durable=False)")
    assert kinds_of(found, tmp_path / "run/a") == ["create", "write", "sync", "rename"]


def test_a_folder_gets_its_name_durably(tmp_path: Path) -> None:
    (tmp_path / "run/made").mkdir(parents=True)
    found = calls(tmp_path, "from steppe.files import place; place(folder / 'made', folder / 'a')")
    words = {"rename": rf"rename.*{tmp_path}/run/made", "sync": rf"fsync\([0-9]+<{tmp_path}/run>\) += 0"}
    assert [word for line in found for word, pattern in words.items() if re.match(pattern, line)] == ["rename", "sync"]


def test_an_upload_that_an_order_names_is_kept_for_good_durably(tmp_path: Path) -> None:
    program = (
        "from steppe.service.uploads import settle; (folder / 'uploads/unused').mkdir(parents=True); "
        "(folder / 'uploads/unused/a').write_bytes(b'x'); settle(folder, ['a'])"
    )
    words = {"rename": r"rename.*uploads/unused/a", "sync": r"fsync\([0-9]+<.*run/uploads>\) += 0"}
    found = calls(tmp_path, program)
    assert [word for line in found for word, pattern in words.items() if re.match(pattern, line)] == ["rename", "sync"]


HOLDS = "import sys, time; from steppe.files import lock; lock(sys.argv[1], 'number 7'); print('held', flush=True); time.sleep(600)"


def test_a_lock_names_its_holder_and_is_free_when_the_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLDS, path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(LockedError, match=r"^number 7$"):
            lock(path)
        other.kill()
    mine = lock(path, "mine")
    assert path.read_text() == "mine"
    os.close(mine)


def test_a_shared_lock_is_taken_beside_another_shared_one_alone(tmp_path: Path) -> None:
    first, second, third = (os.open(tmp_path, os.O_RDONLY) for _ in range(3))
    try:
        assert take(first, shared=True)
        assert take(second, shared=True)
        assert not take(third)
    finally:
        for each in (first, second, third):
            os.close(each)


def test_a_lock_in_a_folder_that_is_not_there_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r'no/lock" cannot be written: No such file or directory'):
        lock(tmp_path / "no/lock")
    with pytest.raises(Failure, match=r'^"what is made" cannot be written'):
        lock(tmp_path / "no/lock", naming="what is made")


def test_a_file_system_without_locks_is_named_and_nothing_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Failure, match=r'lock" cannot be locked: Operation not supported\. Choose a folder on a file system that has locks'):
        lock(tmp_path / "lock")
    assert len(os.listdir("/proc/self/fd")) == before
