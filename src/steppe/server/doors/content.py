"""The content of a request: key and version of an order, type and size of a body.

A declared size is checked before reading, and the bytes that arrive are counted.
"""

import re

from steppe.control import Refused
from steppe.server.doors.origin import SAFE
from steppe.server.negotiation import tags_of
from steppe.server.request import Message, Receive, Request

KEY = re.compile(rb"[A-Za-z0-9._-]{1,64}")
VERSION = re.compile(rb'"(b[0-9]{1,19}\.[0-9]{1,19})(?:-[0-9a-f]+)?"')


def check_key(request: Request) -> None:
    """Reads Idempotency-Key, If-Match and If-Step of a steering request.

    Raises
    ------
    Refused
        key-missing, bad-header; version-stale, when If-Match is no version at all.
    """
    if request.route is None or not (request.route.steering or request.route.keyed):
        return
    key = request.headers.get(b"idempotency-key")
    if key is None:
        raise Refused(
            "key-missing", "The header Idempotency-Key is missing. Give each order a key of its own, so that it can be sent again."
        )
    if not KEY.fullmatch(key):
        text = f"Idempotency-Key has {len(key)} characters; it may be 1 to 64 of A-Z a-z 0-9 . _ -."
        raise Refused("bad-header", text, position="Idempotency-Key")
    request.key = key.decode()
    if not request.route.steering:
        return
    version = request.headers.get(b"if-match", b"*").strip()
    if version != b"*":
        found = VERSION.fullmatch(b",".join(tags_of(version)))
        if found is None:
            text = 'If-Match must be a version such as "b1.17", with its quotes, or *.'
            raise Refused("version-stale", text, value=version[:64].decode("latin-1"), position="If-Match")
        request.if_match = found[1].decode()
    step = request.headers.get(b"if-step")
    if step is not None:
        if not re.fullmatch(rb"[0-9]{1,10}", step):
            raise Refused("bad-header", "If-Step must be a number of steps.", position="If-Step")
        request.if_step = int(step)


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
