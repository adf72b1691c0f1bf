"""Several sites from one machine: each is a `steppe-bridge site`, here or by ssh.

    run ── the first site ── {"event": "listening", "port": ...}
     ├──── the others, which dial it
     └──── lines of all, behind their names

A site that fails: the others have 2 s to end by themselves, then TERM, after 2 s again, which kills.
"""

import asyncio
import os
import re
import shlex
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from steppe_bridge.errors import BRIDGE_FAILED, MISTAKE, Mistake, quoted
from steppe_bridge.key import make_key
from steppe_bridge.mpi import KINDS, named_command
from steppe_bridge.output import Event, pass_on, say_link, say_world
from steppe_bridge.process import ENDING, on_signals, send, start

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
OPTIONS = ("mpi", "mpiexec", "nodes", "folder", "command", "listen", "join")
PATIENCE = 2.0  # [s] for the other sites, after one has failed
DRAIN = 1.0  # [s] for what a site has written, after it has ended
SSH_FAILED = 255
LOCAL = "import sys; sys.path.append({!r}); from steppe_bridge.cli import main; sys.exit(main())"


@dataclass(frozen=True)
class Place:
    """A site as the command line names it; host: a destination of ssh, or "local"."""

    name: str
    host: str
    ranks: str
    options: dict[str, str]


def read_places(texts: list[str]) -> list[Place]:
    """The sites, in the order of their ranks, out of NAME=HOST:RANKS[,OPTION=VALUE...].

    Raises
    ------
    Mistake
        A text has another form, or the sites do not fit together.
    """
    places = [_read_place(text) for text in texts]
    names = [place.name for place in places]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise Mistake(f"Each site needs a name of its own; {quoted(twice)} is there twice.")
    if lost := next((place for place in places if place.host == "local" and not Path(place.options.get("folder", ".")).is_dir()), None):
        raise Mistake(f'Site "{lost.name}" cannot be started in "{lost.options["folder"]}": there is no such folder.')
    for place in places:
        _check_mpi(place)
    if "join" in places[0].options or any("listen" in place.options for place in places[1:]):
        raise Mistake(f'The first site, "{places[0].name}", may have listen=, the others join=.')
    return places


def _check_mpi(place: Place) -> None:
    """Raises Mistake for an MPI or a launcher that this machine knows not to be there, before any site is started."""
    kind = place.options.get("mpi", "mpich")
    if kind not in KINDS:
        raise Mistake(f"--site {place.name} has mpi={kind}, expected one of {', '.join(KINDS)}.")
    if place.host == "local":
        named_command(place.options.get("mpiexec", ""), f"{{}}= of --site {place.name}", place.options.get("folder", "."))


def _read_place(text: str) -> Place:
    first, *rest = text.split(",")
    found = re.fullmatch(rf"({NAME})=(.+):([1-9]\d{{0,6}})", first)
    if found is None:
        raise Mistake(f'--site "{text}" must be NAME=HOST:RANKS, as a=local:8 or b=host.b:16,mpi=openmpi.')
    options = {key: value for key, _, value in (each.partition("=") for each in rest)}
    if wrong := [key for key, value in options.items() if key not in OPTIONS or not value]:
        raise Mistake(f'--site "{text}" has {quoted(wrong)}; the options of a site are {", ".join(OPTIONS)}, each with =VALUE.')
    return Place(found[1], found[2], found[3], options)


@dataclass(frozen=True)
class Run:
    """shared: options of every site. prefix: write the name of a site before its lines."""

    places: list[Place]
    program: list[str]
    shared: list[str]
    ssh: list[str]
    quiet: bool
    prefix: bool


def run_sites(run: Run) -> int:
    """Runs all sites to their end: the first exit code of the program that is not 0, else 75 if the bridge failed, else 0."""
    with tempfile.TemporaryDirectory(prefix="steppe-bridge-") as folder:
        make_key(Path(folder) / "key")
        return asyncio.run(_Sites(run, Path(folder) / "key").run())


class _Sites:
    def __init__(self, run: Run, key: Path) -> None:
        self._run, self._key, self._first = run, key, run.places[0]
        self._children: list[tuple[Place, Process]] = []
        self._feeder: Process | None = None  # of a first site at another machine
        self._port = asyncio.Queue[int]()
        self._kinds: dict[str, str] = {}
        self._world: list[Event] = []
        self._forced = False

    async def run(self) -> int:
        on_signals(self._pass)
        sites, port = {asyncio.create_task(self._site(self._first, ""))}, asyncio.create_task(self._port.get())
        await asyncio.wait({*sites, port}, return_when=asyncio.FIRST_COMPLETED)
        if port.done():
            sites |= {asyncio.create_task(self._site(place, str(port.result()))) for place in self._run.places[1:]}
        codes: list[int] = []
        while sites:
            ended, sites = await asyncio.wait(sites, timeout=PATIENCE if any(codes) else None, return_when=asyncio.FIRST_COMPLETED)
            codes += [BRIDGE_FAILED if self._forced else task.result() for task in ended]
            if not ended:
                self._forced = True
                self._pass(signal.SIGTERM)
        send(self._feeder, signal.SIGKILL)
        return next((code for code in codes if code not in (0, BRIDGE_FAILED)), max(codes))

    async def _site(self, place: Place, port: str) -> int:
        """Runs a site to its end; its exit code."""
        address = self._join(place, port) if port else self._listen()
        known = [f"--{name}={place.options[name]}" for name in ("mpi", "mpiexec", "nodes") if name in place.options]
        site = ["site", "--led", "--name", place.name, "-n", place.ranks, *address, *known, *self._run.shared]
        try:
            child = await (self._start_here if place.host == "local" else self._start_there)(place, site)
        except OSError as error:
            sys.stderr.write(f'steppe bridge: Site "{place.name}" cannot be started: "{error.filename}": {error.strerror}.\n')
            return BRIDGE_FAILED
        self._children.append((place, child))
        output = [self._show(place, each, to) for each, to in ((child.stdout, sys.stdout), (child.stderr, sys.stderr))]
        shown = asyncio.gather(*output)
        code = await child.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(shown, DRAIN)
        if place.host != "local" and code == SSH_FAILED and place.name not in self._kinds:
            sys.stderr.write(f'steppe bridge: Site "{place.name}" was not reached: ssh to "{place.host}" ended with code {code}.\n')
            return BRIDGE_FAILED
        return code if code >= 0 else BRIDGE_FAILED

    async def _start_here(self, place: Place, site: list[str]) -> Process:
        python = [sys.executable, "-c", LOCAL.format(str(Path(__file__).resolve().parents[1]))]
        stdin, folder = None if place is self._first else DEVNULL, place.options.get("folder")
        command = [*python, *site, "--key", str(self._key), "--", *self._run.program]
        return await start(command, signal.SIGTERM, stdin=stdin, stdout=PIPE, stderr=PIPE, cwd=folder)

    async def _start_there(self, place: Place, site: list[str]) -> Process:
        """The key, and for the first site what follows, comes on standard input."""
        folder = f"cd {shlex.quote(place.options['folder'])} || exit {MISTAKE}; " if "folder" in place.options else ""
        remote = f"{folder}{place.options.get('command', 'steppe-bridge')} {shlex.join([*site, '--key', '-', '--', *self._run.program])}"
        stdin, feed = os.pipe()
        try:
            os.write(feed, self._key.read_bytes())
            child = await start([*self._run.ssh, place.host, remote], signal.SIGTERM, stdin=stdin, stdout=PIPE, stderr=PIPE)
            if place is self._first:
                self._feeder = await start(["cat"], signal.SIGKILL, stdout=feed)
            return child
        finally:
            os.close(stdin)
            os.close(feed)

    def _listen(self) -> list[str]:
        here = all(place.host == "local" for place in self._run.places)
        address = self._first.options.get("listen", "127.0.0.1:0" if here else "0")
        return ["--listen", address, "--expect", ",".join(place.name for place in self._run.places)]

    def _join(self, place: Place, port: str) -> list[str]:
        host = self._first.host.rpartition("@")[2]
        if host == "local":
            host = "127.0.0.1" if place.host == "local" else ""  # "": where its ssh session comes from
        return ["--join", place.options.get("join", f"{host}:{port}")]

    async def _show(self, place: Place, source: asyncio.StreamReader | None, target: TextIO) -> None:
        assert source is not None
        prefix = f"[{place.name}] ".encode() if self._run.prefix and len(self._run.places) > 1 else b""
        try:
            await pass_on(source, target.buffer, prefix, lambda event: self._hear(place, event))
        except BrokenPipeError:  # nothing reads the output any more
            self._pass(signal.SIGTERM)

    def _hear(self, place: Place, event: Event) -> None:
        if event["event"] == "listening" and place is self._first:
            self._port.put_nowait(event["port"])
        if event["event"] == "launch":
            self._kinds[place.name] = event["mpi"]
        if event["event"] == "world" and place is self._first:
            self._world = event["sites"]
            self._key.unlink(missing_ok=True)  # all gateways have read it
        if self._world and len(self._kinds) == len(self._run.places) and not self._run.quiet:
            sys.stderr.write(say_world(self._world, self._kinds))
            self._world = []
        if not self._run.quiet:
            sys.stderr.write(say_link(place.name, event))

    def _pass(self, number: signal.Signals) -> None:
        """Passes a signal to the sites. One at another machine ends when its ssh does."""
        for place, child in self._children:
            if place.host == "local" or number in ENDING:
                send(child, number if place.host == "local" else signal.SIGTERM)
