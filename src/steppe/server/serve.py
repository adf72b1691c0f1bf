"""How the application is put on a socket, and how a server lives: it listens for engines, answers people, and ends without a loss."""

import asyncio
import fcntl
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from steppe.api import ROLES
from steppe.control import Journal
from steppe.control.launch import Launcher
from steppe.control.life import MISTAKE, STARTING
from steppe.control.listen import Listener, LoopClock
from steppe.control.supervisor import Supervisor
from steppe.errors import FolderError, Mistake
from steppe.server.access import Access, Token, new_token
from steppe.server.application import Server, application
from steppe.server.doors.host import LOCAL
from steppe.server.limits import Limits
from steppe.server.protocol import Protocol

DRAIN = 8  # [s] that answers under way, and the engine, have when the server ends
IDLE = 75  # [s] that a connection may rest between two requests
LOCK, STATUS = "server.lock", "status.json"  # in the run folder


@dataclass(frozen=True)
class Tokens:
    """Role -> token, as people are told them."""

    texts: Mapping[str, str]

    @classmethod
    def new(cls, roles: Sequence[str] = ROLES) -> "Tokens":
        """One of each role, never used before."""
        return cls({role: new_token() for role in roles})

    @classmethod
    def read(cls, path: Path) -> "Tokens":
        """Those of a file: lines of a role and a token.

        Raises
        ------
        Mistake
            The file cannot be read, or a line is something else.
        """
        try:
            lines = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
        except OSError as error:
            raise Mistake(f'The token file "{path}" cannot be read: {error.strerror}.') from None
        for number, line in enumerate(lines, 1):
            if len(line) != 2 or line[0] not in ROLES or len(line[1]) < 16:
                raise Mistake(f'"{path}", entry {number}: expected a role ({", ".join(ROLES)}) and a token of at least 16 characters.')
        return cls(dict(lines))

    def access(self) -> Access:
        """Who may come in with them."""
        return Access(Token.of(role, role, text) for role, text in self.texts.items())


def configuration(server: Server, **where: Any) -> uvicorn.Config:
    """What `uvicorn.Server` needs.

    where: host and port, or uds (the path of a Unix socket), or fd; ssl_certfile and ssl_keyfile.
    """
    for name in ("ssl_certfile", "ssl_keyfile", "uds"):
        if isinstance(where.get(name), Path):
            where[name] = str(where[name])
    return uvicorn.Config(
        server,
        http=type("LimitedProtocol", (Protocol,), {"limits": server.house.limits}),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,  # it would write whole addresses; the server has a log of its own
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=DRAIN,
        **where,
    )


def serve_run(
    folder: Path,
    tokens: Tokens,
    tell: Callable[[str], object],
    *,
    launcher: str = "",
    durable: bool = False,
    keep_engine: bool = False,
    engine_bind: str = "",
    plain_engine_link: bool = False,
    read_only: bool = False,
    hosts: Sequence[str] = (),
    prefix: str = "",
    proxies: Sequence[str] = (),
    where: Mapping[str, Any],
) -> None:
    """Serves a run folder until a signal asks for the end.

    Parameters
    ----------
    folder
        With the run file for engines in it.
    tokens
        Who may come in.
    tell
        Is told the address and the tokens when the server listens.
    launcher
        Words before the command of the engine.
    durable
        Whether orders survive the loss of power.
    keep_engine
        Whether the engine goes on after the server.
    engine_bind
        Address of this machine at which an engine on another one finds the server; "": the engine is on this one.
    plain_engine_link
        Whether the link to it is not sealed.
    read_only
        Whether people may look, and order nothing.
    hosts
        Names of the server beside localhost.
    prefix
        What stands before all addresses, such as "/steppe".
    proxies
        Addresses of proxies that say what they took off an address.
    where
        To listen, as `configuration` takes it.

    Raises
    ------
    Mistake
        The run cannot be opened.
    FolderError
        Another server has the run.
    DamagedError
        The journal is damaged.
    """
    with _held(folder, where):
        journal = Journal(folder / "journal.sqlite", durable)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                starting = None if launcher else STARTING
                supervisor = Supervisor(folder.name, folder, journal, LoopClock(), Launcher(folder, launcher), starting)
                listener = Listener(folder, supervisor, engine_bind, sealed=not plain_engine_link)
                runner.run(_serve(supervisor, listener, tokens, tell, keep_engine, read_only, hosts, prefix, proxies, dict(where)))
        finally:
            journal.close()


class _Http(uvicorn.Server):
    """uvicorn without its own signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _serve(
    supervisor: Supervisor,
    listener: Listener,
    tokens: Tokens,
    tell: Callable[[str], object],
    keep_engine: bool,
    read_only: bool,
    hosts: Sequence[str],
    prefix: str,
    proxies: Sequence[str],
    where: dict[str, Any],
) -> None:
    loop, asked, folder = asyncio.get_running_loop(), asyncio.Event(), supervisor.folder
    writer = ThreadPoolExecutor(1, "status")  # one after the other; a disk may take its time, and people are answered meanwhile
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    await listener.open()
    near = "uds" in where or where["host"] in (*LOCAL, "::1")
    limits, names = Limits.near() if near else Limits(), (*LOCAL, *hosts)
    server = application({folder.name: supervisor}, tokens.access(), limits, names, prefix, proxies, read_only)
    http = _Http(configuration(server, **where))
    serving = asyncio.create_task(http.serve())
    mistake: dict[str, Any] | None = None
    supervisor.start()
    while not http.started and not serving.done():
        await asyncio.sleep(0.01)
    if not serving.done():
        address = _address_of(http, where) + ("" if "uds" in where else prefix)
        tell(_greeting(folder, address, tokens))
        status = asyncio.create_task(_keep_status(folder, supervisor, address, writer))
        waiting = asyncio.create_task(asked.wait())
        await asyncio.wait((serving, waiting, status), return_when=asyncio.FIRST_COMPLETED)
        if status.done():
            mistake = supervisor.life.problem
        status.cancel()
    server.drain()
    supervisor.close(keep=not keep_engine)
    for _ in range(100 * DRAIN):
        if keep_engine or not supervisor.life.has_process:
            break
        await asyncio.sleep(0.01)
    await loop.run_in_executor(writer, _write_status, folder, "", supervisor.info())
    listener.close()
    http.should_exit = True
    with suppress(SystemExit):
        await serving
    if mistake:
        raise Mistake(mistake["text"])


def _address_of(http: uvicorn.Server, where: Mapping[str, Any]) -> str:
    if "uds" in where:
        return f"unix:{where['uds']}"
    host, port = http.servers[0].sockets[0].getsockname()[:2]
    return f"http{'s' if 'ssl_certfile' in where else ''}://{f'[{host}]' if ':' in host else host}:{port}"


def _greeting(folder: Path, address: str, tokens: Tokens) -> str:
    lines = [f"{folder.name} is served at {address}/", ""]
    lines += [f"  {role:<6} {address}/#token={text}" for role, text in tokens.texts.items()]
    first = tokens.texts.get("steer") or next(iter(tokens.texts.values()))
    lines += ["", f'  steppe.connect("{address}", token="{first}")', "", "Ctrl-C keeps the state and ends.", ""]
    return "\n".join(lines)


async def _keep_status(folder: Path, supervisor: Supervisor, address: str, writer: Executor) -> None:
    """Keeps a file for batch jobs as things change; ends when the run turns out to be one that no engine can open."""
    async for _ in supervisor.happenings(1 << 60):
        await asyncio.get_running_loop().run_in_executor(writer, _write_status, folder, address, supervisor.info())
        if (supervisor.life.problem or {}).get("exit_status") == MISTAKE:
            return
        await asyncio.sleep(1)


def _write_status(folder: Path, address: str, info: Mapping[str, Any]) -> None:
    aside = folder / f"{STATUS}.tmp"
    with suppress(OSError):  # the disk may be full
        aside.write_text(json.dumps({"address": address, "pid": os.getpid(), **info}))
        aside.replace(folder / STATUS)


@contextmanager
def _held(folder: Path, where: Mapping[str, Any]) -> Iterator[None]:
    """Two servers never have one run."""
    with open(folder / LOCK, "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise FolderError(f'"{folder}" is served already, by {lock.read().strip()}. Stop that server first.') from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} at {where.get('uds') or '{host}:{port}'.format(**where)}")
        lock.flush()
        yield
