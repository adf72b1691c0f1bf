"""Where a request that changes something comes from: this server's own page, or a program with a token in a header; never another site."""

from steppe.server.asked import Asked
from steppe.server.problems import Wrong

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")


def check_origin(asked: Asked) -> None:
    """Raises Wrong, foreign-origin. A socket is asked for by GET, and must come from here, too."""
    if asked.scope["method"] in SAFE and asked.scope["type"] == "http":
        return
    origin = asked.headers.get(b"origin")
    if origin is None:
        assert asked.route is not None
        if asked.route.role == "-" or asked.principal is None or asked.principal.by_header:
            return
        raise Wrong("foreign-origin", "The header Origin is missing. A request with a cookie must come from this server's own page.")
    scheme, _, host = origin.partition(b"://")
    if scheme not in (b"http", b"https") or not host or host.lower() != asked.headers.get(b"host", b"").lower():
        raise Wrong("foreign-origin", "The request came from another site.", value=origin[:100].decode("ascii", "replace"))


def check_type(asked: Asked) -> None:
    """Raises Wrong, media-type: a form cannot send JSON, and what is compressed cannot be counted."""
    route = asked.route
    assert route is not None
    if asked.scope["method"] in SAFE:
        return
    if asked.headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Wrong("media-type", "A body is taken as it is, not compressed.", allowed="identity", position="Content-Encoding")
    if route.request is None:
        return
    wanted = b"application/octet-stream" if route.request == "bytes" else b"application/json"
    media, _, more = asked.headers.get(b"content-type", b"").partition(b";")
    if media.strip().lower() != wanted or more.strip().lower() not in (b"", b"charset=utf-8", b'charset="utf-8"'):
        raise Wrong("media-type", f"The header Content-Type must be {wanted.decode()}.", allowed=wanted.decode(), position="Content-Type")
