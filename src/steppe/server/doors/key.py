"""The headers of an order: a key, so that it can be sent again; optional are the version and the step that it expects."""

import re

from steppe.control import Refused
from steppe.server.request import Request

KEY = re.compile(rb"[A-Za-z0-9._-]{1,64}")
VERSION = re.compile(r'(?:W/)?"(b[0-9]{1,19}\.[0-9]{1,19})(?:-[0-9a-f]+)?"')


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
    version = request.headers.get(b"if-match", b"*").decode("latin-1").strip()
    if version != "*":
        found = VERSION.fullmatch(version)
        if found is None:
            text = 'If-Match must be a version such as "b1.17", with its quotes, or *.'
            raise Refused("version-stale", text, value=version[:64], position="If-Match")
        request.if_match = found[1]
    step = request.headers.get(b"if-step")
    if step is not None:
        if not re.fullmatch(rb"[0-9]{1,10}", step):
            raise Refused("bad-header", "If-Step must be a number of steps.", position="If-Step")
        request.if_step = int(step)
