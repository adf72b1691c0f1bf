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
from argparse import Namespace
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import ExitStack, suppress
from pathlib import Path

from steppe_bridge import mpi
from steppe_bridge.errors import BRIDGE_FAILED, Mistake
from steppe_bridge.key import make_key, read_key_line
from steppe_bridge.process import ENDING, each_line, ends, event_line, kill_marked, on_signals, say_link, say_world, send, start

LONGEST_PLACE = 60  # [bytes]; with a folder and a name in it the path of a socket must stay below 108


def run_site(site: Namespace, words: list[str], gateway_options: list[str]) -> int:
    """Runs a site to its end: the exit code of the program, else 75 if the bridge failed, else 0.

    site: the options of the command. words: the program and its arguments.

    Raises
    ------
    Mistake
        Nothing was started: the program, its MPI, a launcher or a part of the bridge is not there or does not fit.
    """
    key = read_key_line() if site.key == "-" else ""
    gateway, program = mpi.find_gateway(), mpi.find_program(words[0])
    launcher, kind = mpi.find_launcher(program, site.mpi, site.mpiexec, f"{{}}= of --site {site.name}" if site.led else "--{}")
    preload = ":".join(filter(None, [str(mpi.find_preload(kind)), os.environ.get("LD_PRELOAD")]))
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    fits = runtime and os.access(runtime, os.W_OK | os.X_OK) and len(os.fsencode(runtime)) <= LONGEST_PLACE
    place = runtime if fits else "/tmp"
    with tempfile.TemporaryDirectory(prefix="steppe-bridge-", dir=place, ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        if key:
            make_key(folder / "key", key)
        options = ["--name", site.name, "--ranks", str(site.ranks), "--socket", f"{folder}/rank.socket", *gateway_options]
        options += ["--key", f"{folder}/key" if key else site.key]
        marks = [f"STEPPE_BRIDGE_SOCKET=unix:{folder}/rank.socket"]
        if site.nodes:
            secret = Path.cwd() / f".steppe-bridge-{secrets.token_hex(8)}"  # in a folder that the nodes of a cluster share
            make_key(secret)
            stack.callback(secret.unlink, missing_ok=True)
            at = f"{site.nodes}:{_free_port(site.nodes)}"
            options += ["--nodes", at, "--secret", str(secret)]
            marks = [f"STEPPE_BRIDGE_SOCKET=tcp:{at}", f"STEPPE_BRIDGE_SECRET={secret}"]
        marks += [f"STEPPE_BRIDGE_SITE={site.name}", f"LD_PRELOAD={preload}"]
        launch = [*launcher, "-n", str(site.ranks), "env", *marks, program, *words[1:]]
        supervisor = _Supervisor(site, mpi.KINDS[kind], folder / "rank.socket", marks[0])
        return asyncio.run(supervisor.run([str(gateway), *options], launch))


def _free_port(host: str) -> int:
    """A port of an address of this machine that nothing listens at; raises a Mistake if the address is not its own."""
    try:
        with socket.create_server((host, 0)) as listener:
            return int(listener.getsockname()[1])
    except OSError as error:
        raise Mistake(f'--nodes "{host}" is no address of this machine that its ranks could reach: {error.strerror}.') from None


class _Supervisor:
    def __init__(self, site: Namespace, mpi_name: str, socket: Path, mark: str) -> None:
        self._site, self._mpi, self._socket, self._mark = site, mpi_name, socket, mark
        self._gateway: Process
        self._launch: Process | None = None
        self._events = set[str]()  # of the gateway: "world"; "stopped", when nothing had failed
        self._failed = self._said = False  # said: a sentence of the gateway
        self._ended = self._told = False  # the launch, the gateway: by this, so that its code means nothing
        self._asked = 0  # the code for the signal that asked for an end

    async def run(self, gateway: list[str], launch: list[str]) -> int:
        on_signals(self._pass)
        self._gateway = await start(gateway, signal.SIGKILL, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        said = asyncio.gather(each_line(self._gateway.stdout, self._hear), each_line(self._gateway.stderr, self._repeat))
        while self._gateway.returncode is None and not self._asked and not self._socket.exists():
            await asyncio.sleep(0.01)
        self._failed = self._gateway.returncode is not None or bool(self._asked)
        if not self._failed:
            (self._socket.parent / "key").unlink(missing_ok=True)  # a key of standard input, which the gateway has read
            mark = dict([self._mark.split("=", 1)])
            stdin = DEVNULL if self._site.join else None
            self._launch = await start(launch, signal.SIGTERM, stdin=stdin, env={**os.environ, **mark})
            await self._end_launch(self._launch)
        await self._end_gateway()
        await said
        ended = self._gateway.returncode or 0, (self._launch.returncode if self._launch else 0) or 0
        if not self._said and (words := self._explanation(*ended)):
            _write(f"steppe bridge: {words}.\n".encode())
        code = self._code(*ended)
        if code:
            kill_marked(self._mark)
        return code

    async def _end_launch(self, launch: Process) -> None:
        """Returns when the launch has ended: by itself, or by this after the gateway has failed or the `run` is gone."""
        waits = {asyncio.create_task(child.wait()) for child in (launch, self._gateway)}
        while launch.returncode is None:
            _, waits = await asyncio.wait(waits, timeout=0.5, return_when=asyncio.FIRST_COMPLETED)
            failed = bool(self._gateway.returncode)
            if launch.returncode is None and (failed or (self._site.led and _is_closed(2))):
                self._failed = True
                if not await ends(launch, 1.0 if failed else 0.0):
                    self._ended = send(launch, signal.SIGTERM)
                    if not await ends(launch, 0.8):
                        self._kill()
                        await launch.wait()

    async def _end_gateway(self) -> None:
        """Returns when the gateway has ended: it may wait for the other sites if the program ended well."""
        well = "world" in self._events and self._launch and self._launch.returncode == 0
        patience = (self._site.link_timeout or 10) + (self._site.reconnect or 0)
        if not await ends(self._gateway, patience if well else 0.3):
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
            self._told |= "world" not in self._events and send(self._gateway, signal.SIGTERM)  # it would blame the rank that ends
        send(self._launch, number)

    def _repeat(self, line: bytes) -> None:
        """Writes the sentence of the gateway; this supervisor has a better one if it ended the gateway."""
        if not self._told:
            self._said = True
            _write(line)

    def _hear(self, line: bytes) -> None:
        """Passes an event of the gateway on: to a `run`, or as a sentence."""
        event = {**json.loads(line), "mpi": self._mpi}
        self._events.add(event["event"])
        if self._site.led:
            _write(event_line(event))
        elif not self._site.quiet:
            world = event["event"] == "world"
            _write(say_world(event["sites"], {self._site.name: self._mpi}) if world else say_link(self._site.name, event))

    def _explanation(self, gateway: int, launch: int) -> str:
        """What neither the gateway nor the program could say, "" for nothing. gateway, launch: exit codes, negative for a signal."""
        site = f'"{self._site.name}"'
        late = "The other sites did not end after" if "world" in self._events else "Not all ranks called MPI_Init before the end of"
        reasons = {
            f"The gateway of site {site} was ended by signal {-gateway}": gateway < 0 and not self._told,
            f"Site {site} was ended by signal {self._asked - 128}": self._asked and self._told,
            f"The launcher of site {site} was ended by signal {-launch}": launch < 0 and not self._ended,
            f"The program of site {site} ended with code {launch}": launch > 0 and self._told and not self._ended,
            f"{late} the program of site {site}": self._told and not self._failed,
        }
        return next((words for words, holds in reasons.items() if holds), "")

    def _code(self, gateway: int, launch: int) -> int:
        """The program's own code, also of another site; else 75 if the bridge failed; else 0.

        The gateway knows how the first rank ended. The launcher reports that of any rank, also of one that it or the gateway has ended.
        """
        if gateway > 0 and "stopped" not in self._events and not (gateway == BRIDGE_FAILED and self._asked):
            return gateway
        if gateway < 0 and not self._told:
            return BRIDGE_FAILED
        if launch > 0 and not self._ended:
            return launch
        return self._asked or (BRIDGE_FAILED if self._failed or "world" not in self._events or gateway or launch else 0)


def _is_closed(file: int) -> bool:
    """True if nothing reads a pipe or a socket any more."""
    poll = select.poll()
    poll.register(file, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _write(text: bytes | str) -> None:
    with suppress(OSError):
        os.write(2, text if isinstance(text, bytes) else text.encode())
