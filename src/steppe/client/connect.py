"""`steppe.connect` and `steppe.connect_async`."""

import os
from typing import TYPE_CHECKING

import msgspec

from steppe.api import RunList
from steppe.client.http_client import PATIENCE, Address, HttpClient, now
from steppe.client.refusals import UnknownError
from steppe.client.remote import Remote
from steppe.client.run import AsyncRun
from steppe.client.sync import Run
from steppe.errors import Mistake, nearest

if TYPE_CHECKING:
    import ssl

TOKEN = "STEPPE_TOKEN"  # of the environment, when no token is given


def connect(
    address: str, token: str | None = None, *, run: str | None = None, patience: float = PATIENCE, verify: "bool | ssl.SSLContext" = True
) -> Run:
    """A run that `steppe serve` serves.

    Parameters
    ----------
    address
        As the server printed it: "http://127.0.0.1:8090", with or without "#token=..." behind it, or "unix:/path".
    token
        A token of the server; else that of the address, else of the environment's STEPPE_TOKEN.
    run
        Name of the run, if the server has several.
    patience
        Seconds for which requests are sent again while the server is away or not ready.
    verify
        For HTTPS, as httpx takes it: an `ssl.SSLContext` that knows the server's certificate, or False to accept any.

    Raises
    ------
    NoAccessError
        The token is missing or invalid.
    UnknownError
        There is no such run.
    UnreachableError
        There is no server at the address, its host name is unknown, or its certificate is not accepted.
    Mistake
        The address is none, or it is that of a file.

    Examples
    --------
    >>> run = steppe.connect("http://127.0.0.1:8090/#token=...")           # doctest: +SKIP
    >>> run.step(until="1995-03-01")                                       # doctest: +SKIP
    >>> run.set("irrigation", 5.0, box=(150, -28, 153, -25))               # doctest: +SKIP
    >>> run["green_leaf"].plot()                                           # doctest: +SKIP
    """
    return Run(now(_joined(address, token, run, patience, verify, False)))


async def connect_async(
    address: str, token: str | None = None, *, run: str | None = None, patience: float = PATIENCE, verify: "bool | ssl.SSLContext" = True
) -> AsyncRun:
    """The same as `connect`, for programs that wait for many things: all that `Run` gives is awaited.

    Examples
    --------
    >>> run = await steppe.connect_async("http://127.0.0.1:8090", token="...")    # doctest: +SKIP
    >>> await run.step(30)                                                        # doctest: +SKIP
    >>> leaf = await run["green_leaf"]                                            # doctest: +SKIP
    """
    return await _joined(address, token, run, patience, verify, True)


async def _joined(
    address: str, token: str | None, run: str | None, patience: float, verify: "bool | ssl.SSLContext", asynchronous: bool
) -> AsyncRun:
    line = HttpClient.to(Address.of(address, token or None, os.environ.get(TOKEN, "")), asynchronous, patience, verify)
    try:
        known = {each.run: each for each in msgspec.json.decode((await line.ask("GET", "/runs")).content, type=RunList).runs}
        if run is None and len(known) != 1:
            raise Mistake(f"{line.url} serves {', '.join(sorted(known)) or 'no run'}. Name one: connect(address, run=...).")
        name = run if run is not None else next(iter(known))
        if name not in known:
            facts = {"code": "unknown-run", "status": 404, "value": name, "allowed": list(known)}
            raise UnknownError(f'{line.url} serves no run "{name}".{nearest(name, known)}', facts)
        remote = Remote(line, name, known[name], asynchronous)
        if not remote.seen.model:  # its first engine is starting: only the address is known
            await remote.variables()
            await remote.info()
    except BaseException:
        await line.close()
        raise
    return AsyncRun(remote)
