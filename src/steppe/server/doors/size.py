"""The limit of a body: a declared size is checked before reading, and the bytes that arrive are counted."""

from steppe.control import Refused
from steppe.server.request import Message, Receive, Request


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
