"""By which name a request calls the server, and where it comes from: its own page, a site that may call (CORS), or a program with a token.

A name that is not the server's is that of a site which had its name point here (DNS rebinding).
"""

import re
from collections.abc import Iterable

from steppe.control import Refused
from steppe.server.request import Headers, Request, Response

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
METHODS = b"GET, HEAD, POST, PUT, DELETE"
SENT = b"authorization, content-type, idempotency-key, if-match, if-none-match, if-step, last-event-id, prefer"
KEPT = b"600"  # [s] for which a browser need not ask again
LOCAL = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(rb"(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(:[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(:[0-9]{1,5})?")


class Hosts:
    """Lets pass what calls the server by one of its names, with any port."""

    def __init__(self, names: Iterable[str] = LOCAL) -> None:
        self._names = {name.lower().encode() for name in names}
        self._known: set[bytes] = set()  # whole headers that were good; few, for there are few ports

    def __call__(self, request: Request) -> None:
        """Raises Refused, unknown-host."""
        given = request.headers.get(b"host", b"")
        if given in self._known:
            return
        found = _HOST.fullmatch(given)
        if found is None or found[1].lower() not in self._names:
            text = f'This server is not called "{given[:64].decode("ascii", "replace")}".'
            raise Refused("unknown-host", text, allowed=sorted(name.decode() for name in self._names))
        if len(self._known) < 100:
            self._known.add(given)


class Origins:
    """Lets requests pass that change something: of the server's own page, and of programs and allowed sites with a token in a header.

    A cookie never counts for another site: it is dropped before anything looks at it, and no reply allows credentials.

    Parameters
    ----------
    allowed
        Origins of other sites whose scripts may call and read, such as "https://maps.example.org".

    Raises
    ------
    ValueError
        One is no origin.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        names = [name.lower() for name in allowed]
        for name in names:
            if not _ORIGIN.fullmatch(name):
                raise ValueError(f'"{name}" must be an origin such as https://maps.example.org or http://localhost:8888: no path, no *.')
        self._allowed = frozenset(name.encode() for name in names)

    def drop_cookie(self, request: Request) -> None:
        """Forgets the cookie of a request of an allowed site."""
        if self._allowed and request.headers.get(b"origin", b"").lower() in self._allowed:
            request.headers.pop(b"cookie", None)

    def __call__(self, request: Request) -> None:
        """Raises Refused, foreign-origin. A socket is asked for by GET, and must come from here or an allowed site, too."""
        socket = request.scope["type"] != "http"
        if request.scope["method"] in SAFE and not socket:
            return
        origin = request.headers.get(b"origin")
        if origin is None:
            assert request.route is not None
            if request.route.role == "-" or request.principal is None or request.principal.by_header:
                return
            raise Refused("foreign-origin", "The header Origin is missing. A request with a cookie must come from this server's own page.")
        if origin.lower() in self._allowed and (socket or request.principal is not None):
            return
        scheme, _, host = origin.partition(b"://")
        if scheme not in (b"http", b"https") or not host or host.lower() != request.headers.get(b"host", b"").lower():
            text = "The request came from another site than its Host. A proxy must pass on the header Host whole, with the port."
            raise Refused("foreign-origin", text, value=origin[:100].decode("ascii", "replace"))

    def preflight(self, request: Request) -> Response | None:
        """The answer to OPTIONS of a browser that asks what a script of an allowed site may send; None to all else."""
        if b"access-control-request-method" not in request.headers or request.headers.get(b"origin", b"").lower() not in self._allowed:
            return None
        allow = ((b"methods", METHODS), (b"headers", SENT))
        return Response(
            204, headers=(*((b"access-control-allow-" + name, said) for name, said in allow), (b"access-control-max-age", KEPT))
        )

    def headers(self, request: Request) -> Headers:
        """The headers of a reply for the browser of a script of another site."""
        if not self._allowed:
            return ()
        origin, vary = request.headers.get(b"origin", b""), (b"vary", b"origin")
        if origin.lower() not in self._allowed:
            return (vary,)
        return (b"access-control-allow-origin", origin), (b"access-control-expose-headers", b"*"), vary
