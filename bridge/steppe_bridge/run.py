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
from argparse import Namespace
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TextIO

from steppe_bridge.errors import BRIDGE_FAILED, MISTAKE, Mistake, quoted
from steppe_bridge.key import make_key
from steppe_bridge.mpi import KINDS, named_command
from steppe_bridge.process import ENDING, Event, on_signals, pass_on, say_link, say_world, send, start

SSH = "ssh -T -o BatchMode=yes -o ServerAliveInterval=3 -o ServerAliveCountMax=3"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
OPTIONS = ("mpi", "mpiexec", "nodes", "folder", "command", "listen", "join")
PATIENCE = 2.0  # [s] for the other sites, after one has failed
DRAIN = 1.0  # [s] for what a site has written, after it has ended
SSH_FAILED = 255
LOCAL = "import sys; sys.path.append({!r}); from steppe_bridge.cli import main; sys.exit(main())"


class Place(NamedTuple):
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
    if "join" in places[0].options or any("listen" in place.options for place in places[1:]):
        raise Mistake(f'The first site, "{places[0].name}", may have listen=, the others join=.')
    return places


def _read_place(text: str) -> Place:
    """Raises Mistake for another form, and for what this machine knows not to be there."""
    first, *rest = text.split(",")
    found = re.fullmatch(rf"({NAME})=(.+):([1-9]\d{{0,6}})", first)
    if found is None:
        raise Mistake(f'--site "{text}" must be NAME=HOST:RANKS, as a=local:8 or b=host.b:16,mpi=openmpi.')
    options = {key: value for key, _, value in (each.partition("=") for each in rest)}
    if wrong := [key for key, value in options.items() if key not in OPTIONS or not value]:
        raise Mistake(f'--site "{text}" has {quoted(wrong)}; the options of a site are {", ".join(OPTIONS)}, each with =VALUE.')
    place, folder = Place(found[1], found[2], found[3], options), options.get("folder", ".")
    if (kind := options.get("mpi", "mpich")) not in KINDS:
        raise Mistake(f"--site {place.name} has mpi={kind}, expected one of {', '.join(KINDS)}.")
    if place.host == "local":
        if not Path(folder).is_dir():
            raise Mistake(f'Site "{place.name}" cannot be started in "{folder}": there is no such folder.')
        named_command(options.get("mpiexec", ""), f"{{}}= of --site {place.name}", folder)
    return place


def run_sites(options: Namespace, program: list[str], shared: list[str]) -> int:
    """Runs all sites to their end: the first exit code of the program that is not 0, else 75 if the bridge failed, else 0.

    options: of the command. shared: options of every site.

    Raises
    ------
    Mistake
        Nothing was started: a site is not what it may be, or ssh is not there.
    """
    places = read_places(options.site)
    if any(place.host != "local" for place in places):
        options.ssh = named_command(options.ssh or SSH, "--ssh")
    with tempfile.TemporaryDirectory(prefix="steppe-bridge-") as folder:
        make_key(Path(folder) / "key")
        return asyncio.run(_Sites(places, options, program, shared, Path(folder) / "key").run())


class _Sites:
    def __init__(self, places: list[Place], options: Namespace, program: list[str], shared: list[str], key: Path) -> None:
        self._places, self._options, self._program, self._shared, self._key = places, options, program, shared, key
        self._first = places[0]
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
            sites |= {asyncio.create_task(self._site(place, str(port.result()))) for place in self._places[1:]}
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
        known = [f"--{name}={place.options[name]}" for name in ("mpi", "mpiexec", "nodes") if name in place.options]
        site = ["site", "--led", "--name", place.name, "-n", place.ranks, *self._address(place, port), *known, *self._shared]
        try:
            child = await (self._start_here if place.host == "local" else self._start_there)(place, site)
        except OSError as error:
            sys.stderr.write(f'steppe bridge: Site "{place.name}" cannot be started: "{error.filename}": {error.strerror}.\n')
            return BRIDGE_FAILED
        self._children.append((place, child))
        shown = asyncio.gather(self._show(place, child.stdout, sys.stdout), self._show(place, child.stderr, sys.stderr))
        code = await child.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(shown, DRAIN)
        if place.host != "local" and code == SSH_FAILED and place.name not in self._kinds:
            sys.stderr.write(f'steppe bridge: Site "{place.name}" was not reached: ssh to "{place.host}" ended with code {code}.\n')
            return BRIDGE_FAILED
        return code if code >= 0 else BRIDGE_FAILED

    async def _start_here(self, place: Place, site: list[str]) -> Process:
        code, stdin = LOCAL.format(str(Path(__file__).resolve().parents[1])), None if place is self._first else DEVNULL
        command = [sys.executable, "-c", code, *site, "--key", str(self._key), "--", *self._program]
        return await start(command, signal.SIGTERM, stdin=stdin, stdout=PIPE, stderr=PIPE, cwd=place.options.get("folder"))

    async def _start_there(self, place: Place, site: list[str]) -> Process:
        """The key, and for the first site what follows, comes on standard input."""
        folder = f"cd {shlex.quote(place.options['folder'])} || exit {MISTAKE}; " if "folder" in place.options else ""
        remote = f"{folder}{place.options.get('command', 'steppe-bridge')} {shlex.join([*site, '--key', '-', '--', *self._program])}"
        stdin, feed = os.pipe()
        try:
            os.write(feed, self._key.read_bytes())
            child = await start([*self._options.ssh, place.host, remote], signal.SIGTERM, stdin=stdin, stdout=PIPE, stderr=PIPE)
            if place is self._first:
                self._feeder = await start(["cat"], signal.SIGKILL, stdout=feed)
            return child
        finally:
            os.close(stdin)
            os.close(feed)

    def _address(self, place: Place, port: str) -> list[str]:
        """The first site listens; `port` is where, for the others."""
        if place is self._first:
            here = all(each.host == "local" for each in self._places)
            address = place.options.get("listen", "127.0.0.1:0" if here else "0")
            return ["--listen", address, "--expect", ",".join(each.name for each in self._places)]
        near = "127.0.0.1" if place.host == "local" else ""  # "": where its ssh session comes from
        host = near if self._first.host == "local" else self._first.host.rpartition("@")[2]
        return ["--join", place.options.get("join", f"{host}:{port}")]

    async def _show(self, place: Place, source: asyncio.StreamReader | None, target: TextIO) -> None:
        assert source is not None
        prefix = f"[{place.name}] ".encode() if not self._options.no_prefix and len(self._places) > 1 else b""
        try:
            await pass_on(source, target.buffer, prefix, lambda event: self._hear(place, event))
        except BrokenPipeError:  # nothing reads the output any more
            self._pass(signal.SIGTERM)

    def _hear(self, place: Place, event: Event) -> None:
        if event["event"] == "listening":
            self._kinds[place.name] = event["mpi"]
            self._port.put_nowait(event["port"])  # that of the first site comes first
        if event["event"] == "world" and place is self._first:
            self._world = event["sites"]
            self._key.unlink(missing_ok=True)  # all gateways have read it
        if self._world and len(self._kinds) == len(self._places) and not self._options.quiet:
            sys.stderr.write(say_world(self._world, self._kinds))
            self._world = []
        if not self._options.quiet:
            sys.stderr.write(say_link(place.name, event))

    def _pass(self, number: signal.Signals) -> None:
        """Passes a signal to the sites. One at another machine ends when its ssh does."""
        for place, child in self._children:
            if place.host == "local" or number in ENDING:
                send(child, number if place.host == "local" else signal.SIGTERM)
