"""The life of a server: it opens its sockets, starts engines, answers clients, and ends without a loss.

The page is opened by a file: a token in a command line stands in the list of processes, which all users of a machine can read.
"""

import asyncio
import logging
import signal
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from sqlite3 import DatabaseError
from typing import Any

import uvicorn
import uvloop

from steppe.errors import Mistake
from steppe.server.application import Server, application
from steppe.server.context import ServerContext
from steppe.server.doors.origin import LOCAL
from steppe.server.limits import Limits
from steppe.server.live import SocketProtocol
from steppe.server.protocol import HttpServer, Protocol
from steppe.server.role_tokens import Tokens
from steppe.server.runs import DRAIN, Runs, held
from steppe.server.serve_options import ServeOptions
from steppe.server.tokens import TokenFile
from steppe.service import uploads

LOG = logging.getLogger("steppe.server")
MESSAGE = 4096  # [byte] of what a client may say on a socket
PING = 20.0  # [s] between two that ask whether a client is there: idle times of proxies begin at 30 s
IDLE = 75  # [s] that a connection may rest between two requests
SWEEP = 600.0  # [s] between two looks for uploads that no order uses
EVERYWHERE = ("", "0.0.0.0", "::")  # addresses to listen at, which no client can call


def configuration(server: Server, **where: Any) -> uvicorn.Config:
    """The configuration of `uvicorn.Server`.

    where: host and port, or uds (the path of a Unix socket), or fd; ssl_certfile and ssl_keyfile.
    """
    return uvicorn.Config(
        server,
        # the last seconds end before uvicorn cancels what is left, loudly
        http=type("LimitedProtocol", (Protocol,), {"limits": server.context.limits, "last_seconds": DRAIN - 1.0}),
        ws=type("LimitedSocket", (SocketProtocol,), {"limits": server.context.limits}),
        ws_max_size=MESSAGE,
        ws_per_message_deflate=False,
        ws_ping_interval=PING,
        ws_ping_timeout=3 * PING,
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
    folder: Path | None, tokens: Tokens, tell: Callable[[str], object], options: ServeOptions, *, to_terminal: bool = False
) -> None:
    """Serves runs until a signal asks for the end.

    Parameters
    ----------
    folder
        Of a run, with the run file for engines in it; None: there are only those of `options.runs`.
    tokens
        The tokens that open the server.
    tell
        Called with the address when the server listens, and with the place of the tokens.
    options
        Where it listens, and the rest.
    to_terminal
        True if a terminal shows the output, which may then have tokens that the server made.

    Raises
    ------
    Mistake
        The run cannot be opened.
    FolderError
        Another server has the run.
    DamagedError
        The journal is damaged.
    """
    where, runs = options.where, options.runs
    at = str(where.get("uds") or "{host}:{port}".format(**where))
    with held(runs, at) if runs else nullcontext(), ExitStack() as rest:
        most = options.scenarios or Limits().scenarios
        served = Runs(at, options.durable, runs, options.launcher_words, most)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                near = "uds" in where or where["host"] in (*LOCAL, "::1")
                limits, names = Limits.near() if near else Limits(), (*LOCAL, *options.host)
                limits = replace(limits, scenarios=most, sockets_of_token=limits.sockets if options.many else limits.sockets_of_token)
                access, prefix = tokens.access(), options.root_path
                server = application(
                    {}, access, limits, names, prefix, options.proxy, options.read_only, served, options.data, options.cors
                )
                name = " and ".join(each.name for each in (folder, runs) if each)

                def greet(http: uvicorn.Server) -> None:
                    address = _address_of(http, options)
                    served.listens(address)
                    tell(tokens.greeting(name, address, to_terminal))
                    if not (near or options.tls_cert or options.proxy):
                        tell("Tokens and values pass the network unencrypted. Give --tls-cert and --tls-key, or put a proxy before it.\n")
                    if options.open:
                        path = rest.enter_context(leading(f"{address}/#token={tokens.first}"))
                        # in a thread: a browser in a terminal ends when it is left
                        threading.Thread(target=_visit, args=(path, tell), daemon=True).start()

                runner.run(_serve(server, served, folder, greet, options))
                if place := runs or folder:
                    server.context.access.keep_sessions(place)
        finally:
            served.close()


async def _serve(server: Server, runs: Runs, first: Path | None, greet: Callable[[uvicorn.Server], object], options: ServeOptions) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    hangup = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]  # `nohup` ignores it
    for number in (signal.SIGINT, signal.SIGTERM, *hangup):
        loop.add_signal_handler(number, stop.set)
    mistake = ""
    try:
        if first:
            await runs.begin(first, "", options.engine_bind, not options.plain_engine_link)
        await runs.begin_all()
        server.context.runs |= runs.open
        server.context.access.take_from({name: TokenFile(run.folder) for name, run in runs.open.items()})
        if place := options.runs or first:
            server.context.access.take_sessions(place)
        http = HttpServer(configuration(server, **options.where))
        serving = asyncio.create_task(http.serve())
        while not http.started and not serving.done():
            await asyncio.sleep(0.01)
        if not serving.done():
            greet(http)
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
        await runs.end_all(options.keep_engine)
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


def _address_of(http: uvicorn.Server, options: ServeOptions) -> str:
    """The names by which clients call the server."""
    if options.uds:
        return f"unix:{options.uds}"
    host, port = http.servers[0].sockets[0].getsockname()[:2]
    if options.where["host"] in EVERYWHERE:
        host = next(iter(options.host), LOCAL[0])
    return f"http{'s' if options.tls_cert else ''}://{f'[{host}]' if ':' in host else host}:{port}{options.root_path}"


def _visit(path: Path, tell: Callable[[str], object]) -> None:
    if not open_page(path):
        tell("There is no browser here that can be opened. Open the address above in a browser, with a token.\n")


LEADS = """\
<!doctype html><meta charset=utf-8><title>Steppe</title>
<meta http-equiv="refresh" content="0; url={link}"><a href="{link}">Steppe</a>
"""


@contextmanager
def leading(link: str) -> Iterator[Path]:
    """A file of this user alone that leads a browser to a link; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="steppe-") as folder:  # mode 0700
        path = Path(folder) / "steppe.html"
        path.write_text(LEADS.format(link=escape(link)), encoding="utf-8")
        yield path


def open_page(path: Path) -> bool:
    """Opens a file in a browser; False when there is none that can be opened."""
    try:
        return webbrowser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        return False
