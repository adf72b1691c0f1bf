"""The body of a request: its type, and its size. A declared size is checked before reading, and the bytes that arrive are counted."""

from steppe.control import Refused
from steppe.server.doors.origin import SAFE
from steppe.server.request import Message, Receive, Request


def check_type(request: Request) -> None:
    """Raises Refused, media-type: a form cannot send JSON, and what is compressed cannot be counted."""
    route = request.route
    assert route is not None
    if request.scope["method"] in SAFE:
        return
    if request.headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refused("media-type", "A body is taken as it is, not compressed.", allowed="identity", position="Content-Encoding")
    if route.request is None:
        return
    wanted = b"application/octet-stream" if route.request == "bytes" else b"application/json"
    media, _, more = request.headers.get(b"content-type", b"").partition(b";")
    if media.strip().lower() != wanted or more.strip().lower() not in (b"", b"charset=utf-8", b'charset="utf-8"'):
        raise Refused("media-type", f"The header Content-Type must be {wanted.decode()}.", allowed=wanted.decode(), position="Content-Type")


def check_size(request: Request) -> None:
    """Raises Refused, body-too-large, at once or when more arrives than may."""
    declared = request.headers.get(b"content-length")
    if declared is None and b"transfer-encoding" not in request.headers:
        return
    assert request.route is not None
    limits = request.context.limits
    limit = limits.upload if request.route.request == "bytes" else limits.body
    if declared is not None and int(declared) > limit:  # the parser lets only digits pass
        raise _too_large(limit)
    request.receive = _LimitedReceiver(request.receive, limit)


def _too_large(limit: int) -> Refused:
    return Refused("body-too-large", f"The body may have {limit:,} bytes.", allowed=limit)


class _LimitedReceiver:
    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._limit, self._sum = receive, limit, 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._sum += len(message.get("body", b""))
        if self._sum > self._limit:
            raise _too_large(self._limit)
        return message
