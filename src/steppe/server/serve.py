"""The life of a server: it opens its sockets, starts engines, answers clients, and ends without a loss."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from sqlite3 import DatabaseError
from typing import Any

import uvicorn
import uvloop

from steppe.errors import Mistake
from steppe.server import sessions
from steppe.server.application import Server, application
from steppe.server.context import ServerContext
from steppe.server.doors.host import LOCAL
from steppe.server.limits import Limits
from steppe.server.live import SocketProtocol
from steppe.server.protocol import HttpServer, Protocol
from steppe.server.role_tokens import Tokens
from steppe.server.runs import DRAIN, Runs, held
from steppe.server.tokens import TokenFile
from steppe.server.visit import leading, open_page
from steppe.service import uploads

LOG = logging.getLogger("steppe.server")
MESSAGE = 4096  # [byte] of what a client may say on a socket
PING = 30.0  # [s] between two that ask whether a client is there
IDLE = 75  # [s] that a connection may rest between two requests
SWEEP = 600.0  # [s] between two looks for uploads that no order uses
EVERYWHERE = ("", "0.0.0.0", "::")  # addresses to listen at, which no client can call


def configuration(server: Server, **where: Any) -> uvicorn.Config:
    """What `uvicorn.Server` needs.

    where: host and port, or uds (the path of a Unix socket), or fd; ssl_certfile and ssl_keyfile.
    """
    for name in ("ssl_certfile", "ssl_keyfile", "uds"):
        if isinstance(where.get(name), Path):
            where[name] = str(where[name])
    return uvicorn.Config(
        server,
        # the last seconds end before uvicorn cancels what is left, loudly
        http=type("LimitedProtocol", (Protocol,), {"limits": server.context.limits, "last_seconds": DRAIN - 1.0}),
        ws=type("LimitedSocket", (SocketProtocol,), {"limits": server.context.limits}),
        ws_max_size=MESSAGE,
        ws_per_message_deflate=False,
        ws_ping_interval=PING,
        ws_ping_timeout=2 * PING,
        lifespan="off",
        log_config=None,
        access_log=False,  # it would write whole addresses; the server has a log of its own
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=DRAIN,
        **where,
    )


def serve_runs(
    folder: Path | None,
    tokens: Tokens,
    tell: Callable[[str], object],
    *,
    to_terminal: bool = False,
    launcher: str = "",
    durable: bool = False,
    keep_engine: bool = False,
    engine_bind: str = "",
    plain_engine_link: bool = False,
    read_only: bool = False,
    many: bool = False,
    scenarios: int | None = None,
    hosts: Sequence[str] = (),
    prefix: str = "",
    proxies: Sequence[str] = (),
    runs: Path | None = None,
    data: Sequence[Path] = (),
    launchers: Mapping[str, str] | None = None,
    cors: Sequence[str] = (),
    visit: bool = False,
    where: Mapping[str, Any],
) -> None:
    """Serves runs until a signal asks for the end.

    Parameters
    ----------
    folder
        Of a run, with the run file for engines in it; None: there are only those of `runs`.
    tokens
        Who may come in.
    tell
        Is told the address when the server listens, and where the tokens are.
    to_terminal
        True if a terminal shows the output, which may then have tokens that the server made.
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
    many
        Whether one token may have all the sockets that there may be.
    scenarios
        How many a run may have at once; default: as `Limits` has it.
    hosts
        Names of the server beside localhost.
    prefix
        What stands before all addresses, such as "/steppe".
    proxies
        Addresses of proxies that say what they took off an address, and for which client they call.
    runs
        A folder for the runs that clients begin; the runs in it are served.
    data
        Folders that their run files may name, beside that.
    launchers
        Name -> words before the command of an engine, for them to choose from.
    cors
        Other sites whose scripts may call.
    visit
        Whether to open the page in a browser, too.
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
    at = str(where.get("uds") or "{host}:{port}".format(**where))
    with held(runs, at) if runs else nullcontext(), ExitStack() as rest:
        most = scenarios or Limits().scenarios
        served = Runs(at, durable, runs, {"": launcher, **(launchers or {})}, most)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                near = "uds" in where or where["host"] in (*LOCAL, "::1")
                limits, names = Limits.near() if near else Limits(), (*LOCAL, *hosts)
                limits = replace(limits, scenarios=most, sockets_of_token=limits.sockets if many else limits.sockets_of_token)
                server = application({}, tokens.access(), limits, names, prefix, proxies, read_only, served, data, cors)
                place = runs or folder
                name, link = " and ".join(each.name for each in (folder, runs) if each), (engine_bind, not plain_engine_link)
                behind = "" if "uds" in where else prefix

                def greet(address: str) -> None:
                    tell(tokens.greeting(name, address, to_terminal))
                    if visit:
                        path = rest.enter_context(leading(f"{address}/#token={tokens.first}"))
                        # in a thread: a browser in a terminal ends when it is left
                        threading.Thread(target=_visit, args=(path, tell), daemon=True).start()

                called = "" if where.get("host") not in EVERYWHERE else next(iter(hosts), LOCAL[0])

                def address_of(http: uvicorn.Server) -> str:
                    return _address_of(http, where, called) + behind

                runner.run(_serve(server, served, folder, place, link, greet, keep_engine, address_of, dict(where)))
                if place:
                    sessions.keep(server.context.access, place)
        finally:
            served.close()


async def _serve(
    server: Server,
    runs: Runs,
    first: Path | None,
    place: Path | None,
    link: tuple[str, bool],
    tell: Callable[[str], object],
    keep_engine: bool,
    address_of: Callable[[uvicorn.Server], str],
    where: dict[str, Any],
) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    mistake = ""
    try:
        if first:
            await runs.begin(first, "", *link)
        await runs.begin_all()
        server.context.runs |= runs.open
        server.context.access.take_from({name: TokenFile(run.folder) for name, run in runs.open.items()})
        if place:
            sessions.take(server.context.access, place)
        http = HttpServer(configuration(server, **where))
        serving = asyncio.create_task(http.serve())
        while not http.started and not serving.done():
            await asyncio.sleep(0.01)
        if not serving.done():
            address = address_of(http)
            runs.listens(address)
            tell(address)
            sweeping = asyncio.create_task(_sweep(server.context))
            waiting = asyncio.create_task(stop.wait())
            impossible = asyncio.create_task(runs.impossible(first.name)) if first else waiting
            await asyncio.wait((serving, waiting, impossible), return_when=asyncio.FIRST_COMPLETED)
            if first and impossible.done():
                mistake = str(impossible.result())
            impossible.cancel()
            sweeping.cancel()
        server.drain()
    finally:
        await runs.end_all(keep_engine)
    http.should_exit = True
    with suppress(SystemExit):
        await serving
    if mistake:
        raise Mistake(mistake)


async def _sweep(context: ServerContext) -> None:
    """Removes uploads that no order uses, every `SWEEP` seconds."""
    while True:
        for name, run in [*context.runs.items()]:
            try:
                await asyncio.to_thread(uploads.sweep, run.folder, context.limits)
            except (OSError, DatabaseError) as error:
                LOG.warning("The uploads of %s cannot be swept: %s", name, error)
        await asyncio.sleep(SWEEP)


def _address_of(http: uvicorn.Server, where: Mapping[str, Any], called: str) -> str:
    if "uds" in where:
        return f"unix:{where['uds']}"
    listens, port = http.servers[0].sockets[0].getsockname()[:2]
    host = called or listens
    return f"http{'s' if 'ssl_certfile' in where else ''}://{f'[{host}]' if ':' in host else host}:{port}"


def _visit(path: Path, tell: Callable[[str], object]) -> None:
    if not open_page(path):
        tell("There is no browser here that can be opened. Open the address above in a browser, with a token.\n")
