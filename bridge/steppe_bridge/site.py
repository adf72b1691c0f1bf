"""One site: its gateway and its launch, started, watched and ended together.

    supervisor ── gateway ────────────────── gateways of the other sites
        └── mpiexec ── ranks ── socket ── gateway

    the gateway fails ── 1 s ── TERM to the launcher ── 0.8 s ── KILL to all
    the launch ends ── 0.3 s ── TERM to the gateway ── 2 s ── KILL to all
    INT, TERM ── the same to the launcher, and to the gateway before the world stands; the second one ── KILL to all

In the first of these times a process may end by itself, with the code of the program and a sentence.
"""

import asyncio
import json
import os
import secrets
import select
import signal
import socket
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from steppe_bridge import mpi, native
from steppe_bridge.errors import BRIDGE_FAILED, Mistake
from steppe_bridge.key import make_key, read_key_line, write_key
from steppe_bridge.output import Event, event_line, say_link, say_world
from steppe_bridge.process import ENDING, ends, kill_marked, on_signals, send, start

LONGEST_PLACE = 60  # [bytes]; with a folder and a name in it the path of a socket must stay below 108


@dataclass(frozen=True)
class Site:
    """A site.

    key: a file, or "-". nodes: the address of this machine for ranks of others, or "". first: has standard input.
    patience: [s] for the other sites, once the program has ended here.
    led: by a `run`, which reads events, and ends the site by closing standard error.
    """

    name: str
    ranks: int
    program: list[str]
    key: str
    gateway_options: list[str]
    first: bool
    mpi: str
    mpiexec: str
    patience: int
    quiet: bool
    led: bool
    nodes: str = ""


def run_site(site: Site) -> int:
    """Runs a site to its end: the exit code of the program, else 75 if the bridge failed, else 0.

    Raises
    ------
    Mistake
        Nothing was started: the program, its MPI, a launcher or a part of the bridge is not there or does not fit.
    """
    key = read_key_line() if site.key == "-" else ""
    gateway, program = native.find_gateway(), mpi.find_program(site.program[0])
    launcher, kind = mpi.find_launcher(program, site.mpi, site.mpiexec, f"{{}}= of --site {site.name}" if site.led else "--{}")
    preload = ":".join(filter(None, [str(native.find_preload(kind, mpi.KINDS[kind])), os.environ.get("LD_PRELOAD")]))
    with _private_folder() as name, ExitStack() as stack:
        folder = Path(name)
        if key:
            write_key(folder / "key", key)
        options = ["--name", site.name, "--ranks", str(site.ranks), "--socket", f"{folder}/rank.socket", *site.gateway_options]
        options += ["--key", f"{folder}/key" if key else site.key]
        marks = [f"STEPPE_BRIDGE_SOCKET=unix:{folder}/rank.socket"]
        if site.nodes:
            secret = Path.cwd() / f".steppe-bridge-{secrets.token_hex(8)}"  # in a folder that the nodes of a cluster share
            make_key(secret)
            stack.callback(secret.unlink, missing_ok=True)
            at = f"{site.nodes}:{_free_port(site.nodes)}"
            options += ["--nodes", at, "--secret", str(secret)]
            marks = [f"STEPPE_BRIDGE_SOCKET=tcp:{at}", f"STEPPE_BRIDGE_SECRET={secret}"]
        names = [*marks, f"STEPPE_BRIDGE_SITE={site.name}"]
        launch = [*launcher, "-n", str(site.ranks), "env", f"LD_PRELOAD={preload}", *names, program, *site.program[1:]]
        supervisor = _Supervisor(site, mpi.KINDS[kind], folder / "rank.socket", marks[0])
        return asyncio.run(supervisor.run([str(gateway), *options], launch))


def _free_port(host: str) -> int:
    """A port of an address of this machine that nothing listens at; raises a Mistake if the address is not its own."""
    try:
        with socket.create_server((host, 0)) as listener:
            return int(listener.getsockname()[1])
    except OSError as error:
        raise Mistake(f'--nodes "{host}" is no address of this machine that its ranks could reach: {error.strerror}.') from None


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of mode 0700 on this host."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    fits = runtime and os.access(runtime, os.W_OK | os.X_OK) and len(os.fsencode(runtime)) <= LONGEST_PLACE
    return tempfile.TemporaryDirectory(prefix="steppe-bridge-", dir=runtime if fits else "/tmp", ignore_cleanup_errors=True)


class _Supervisor:
    def __init__(self, site: Site, mpi_name: str, socket: Path, mark: str) -> None:
        self._site, self._mpi, self._socket, self._mark = site, mpi_name, socket, mark
        self._gateway: Process
        self._launch: Process | None = None
        self._world = self._failed = self._said = False  # said: a sentence of the gateway
        self._stopped = False  # the gateway, when nothing had failed
        self._ended = self._told = False  # the launch, the gateway: by this, so that its code means nothing
        self._asked = 0  # the code for the signal that asked for an end

    async def run(self, gateway: list[str], launch: list[str]) -> int:
        on_signals(self._pass)
        self._gateway = await start(gateway, signal.SIGKILL, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        said = asyncio.gather(self._hear(), self._repeat())
        if await self._listens():
            (self._socket.parent / "key").unlink(missing_ok=True)  # a key of standard input, which the gateway has read
            mark = dict([self._mark.split("=", 1)])
            stdin = None if self._site.first else DEVNULL
            self._launch = await start(launch, signal.SIGTERM, stdin=stdin, env={**os.environ, **mark})
            self._tell({"event": "launch", "mpi": self._mpi})
            await self._end_launch(self._launch)
        await self._end_gateway()
        await said
        self._explain()
        code = self._code()
        if code:
            kill_marked(self._mark)
        return code

    async def _listens(self) -> bool:
        while self._gateway.returncode is None and not self._asked:
            if self._socket.exists():
                return True
            await asyncio.sleep(0.01)
        self._failed = True
        return False

    async def _end_launch(self, launch: Process) -> None:
        """Returns when the launch has ended: by itself, or by this after the gateway has failed or the `run` is gone."""
        ending, failing = asyncio.create_task(launch.wait()), asyncio.create_task(self._fails())
        await asyncio.wait([ending, failing], return_when=asyncio.FIRST_COMPLETED)
        if failing.done():
            self._failed = True
            if not await ends(launch, failing.result()):
                self._ended = send(launch, signal.SIGTERM)
                if not await ends(launch, 0.8):
                    self._kill()
        await ending
        failing.cancel()

    async def _fails(self) -> float:
        """Waits until the launch must end; returns the time that it still has [s]."""
        while self._gateway.returncode in (None, 0):
            if self._site.led and _is_closed(2):
                return 0.0
            await ends(self._gateway, 0.5) if self._gateway.returncode is None else await asyncio.sleep(0.5)
        return 1.0

    async def _end_gateway(self) -> None:
        """Returns when the gateway has ended: it may wait for the other sites if the program ended well."""
        if await ends(self._gateway, 0.3):
            return
        if not (self._world and self._launch and self._launch.returncode == 0 and await ends(self._gateway, self._site.patience)):
            self._told = send(self._gateway, signal.SIGTERM)
            if not await ends(self._gateway, 2.0):
                self._kill()
                await self._gateway.wait()

    def _kill(self) -> None:
        self._told |= send(self._gateway, signal.SIGKILL)
        self._ended |= send(self._launch, signal.SIGKILL)
        kill_marked(self._mark)

    def _pass(self, number: signal.Signals) -> None:
        """Passes a signal to the launch; the second one that asks for an end kills."""
        if number in ENDING and self._asked:
            self._kill()
        elif number in ENDING:
            self._asked = 128 + number
            self._told |= not self._world and send(self._gateway, signal.SIGTERM)  # it would blame the rank that ends
        send(self._launch, number)

    async def _hear(self) -> None:
        assert self._gateway.stdout is not None
        async for line in self._gateway.stdout:
            self._tell(json.loads(line))

    async def _repeat(self) -> None:
        """Writes the sentence of the gateway; this supervisor has a better one if it ended the gateway."""
        assert self._gateway.stderr is not None
        async for line in self._gateway.stderr:
            if not self._told:
                self._said = True
                _write(line)

    def _tell(self, event: Event) -> None:
        self._world |= event["event"] == "world"
        self._stopped |= event["event"] == "stopped"
        if self._site.led:
            _write(event_line(event))
        elif event["event"] == "world" and not self._site.quiet:
            _write(say_world(event["sites"], {self._site.name: self._mpi}).encode())
        elif not self._site.quiet:
            _write(say_link(self._site.name, event).encode())

    def _codes(self) -> tuple[int, int]:
        """Of gateway and launch, once both have ended; negative for a signal."""
        return self._gateway.returncode or 0, (self._launch.returncode if self._launch else 0) or 0

    def _explain(self) -> None:
        """Says what neither the gateway nor the program could say."""
        (gateway, launch), words = self._codes(), ""
        if self._said:
            return
        if gateway < 0 and not self._told:
            words = f"The gateway of site {{}} was ended by signal {-gateway}"
        elif self._asked and self._told:
            words = f"Site {{}} was ended by signal {self._asked - 128}"
        elif launch < 0 and not self._ended:
            words = f"The launcher of site {{}} was ended by signal {-launch}"
        elif launch > 0 and self._told and not self._ended:
            words = f"The program of site {{}} ended with code {launch}"
        elif self._told and not self._failed:
            words = "The other sites did not end after" if self._world else "Not all ranks called MPI_Init before the end of"
            words += " the program of site {}"
        if words:
            _write(f"steppe bridge: {words}.\n".format(f'"{self._site.name}"').encode())

    def _code(self) -> int:
        """The program's own code, also of another site; else 75 if the bridge failed; else 0.

        The gateway knows how the first rank ended. The launcher reports that of any rank, also of one that it or the gateway has ended.
        """
        gateway, launch = self._codes()
        if gateway > 0 and not self._stopped and not (gateway == BRIDGE_FAILED and self._asked):
            return gateway
        if gateway < 0 and not self._told:
            return BRIDGE_FAILED
        if launch > 0 and not self._ended:
            return launch
        return self._asked or (BRIDGE_FAILED if self._failed or not self._world or gateway or launch else 0)


def _is_closed(file: int) -> bool:
    """True if nothing reads a pipe or a socket any more."""
    poll = select.poll()
    poll.register(file, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _write(text: bytes) -> None:
    with suppress(OSError):
        os.write(2, text)
