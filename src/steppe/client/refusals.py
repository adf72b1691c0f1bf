"""Refusals of a server as exceptions, and failures of a connection that last.

SteppeError
├── RefusedError          the request is not met, and nothing was changed; `code` names the kind
│   ├── UnknownError      there is no run, variable, scenario ... of this name; also a KeyError
│   ├── NoAccessError     the token is missing, not taken, or may not do this
│   ├── StaleError        another client steered in the meantime
│   └── NotAtHandError    what belongs to a step that is not computed, or no longer kept
├── UnreachableError      no server answers, or it is not ready, for longer than the client waits
└── EngineFailedError     the engine gave up; the text names the command that it died of
"""

import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from steppe.errors import Failure, Mistake

UNKNOWN = {getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA") if hasattr(socket, name)}  # EAI_AGAIN may pass


class RefusedError(Mistake):
    """A request that the server refuses.

    code: of the kind, as the page /problems/{code} of the server explains it. status: of HTTP. allowed: what would be taken. nearest: the
    name that is most like the one that was given. facts: all members of the problem.
    """

    def __init__(self, detail: str, facts: Mapping[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.facts = dict(facts or {})
        self.code = str(self.facts.get("code", "bad-query"))
        self.status = int(self.facts.get("status", 0))
        self.variable, self.value, self.position = (self.facts.get(name) for name in ("variable", "value", "position"))
        self.allowed, self.nearest = self.facts.get("allowed"), self.facts.get("nearest")


class UnknownError(RefusedError, KeyError):
    """There is nothing of this name."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would put it in quotes


class NoAccessError(RefusedError):
    """The token is missing, invalid, or has too low a role."""


class StaleError(RefusedError):
    """Another client steered in the meantime. `facts["changed"]` lists its orders; after `info()` the order can be given again."""


class NotAtHandError(RefusedError):
    """A step that is not computed yet, or no longer kept."""


class UnreachableError(Failure):
    """No server answers, or it is not ready."""

    code = "unreachable"


class EngineFailedError(Failure):
    """The engine gave up; `facts` has its exit status and its last lines."""

    code = "engine-failed"

    def __init__(self, detail: str, facts: Mapping[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.facts = dict(facts or {})


_BY_STATUS = {401: NoAccessError, 403: NoAccessError, 404: UnknownError, 410: NotAtHandError, 416: NotAtHandError}
_ANSWERED = ("disk-full", "too-costly")  # asking again would not help
_LISTED = 8  # of the allowed values, or of orders, that a text names


def raised(facts: Mapping[str, Any]) -> Exception:
    """The exception for a problem: that of a reply (RFC 9457), or what an operation says of itself."""
    text = str(facts.get("detail") or facts.get("text") or facts.get("title") or "The server gave no reason.")
    if facts.get("code") in ("engine-failed", "replay-differs"):
        return EngineFailedError(text, facts)
    if int(facts.get("status", 422)) >= 500 and facts.get("code") not in _ANSWERED:
        return UnreachableError(text)
    if facts.get("code") == "version-stale":
        return StaleError(text + _since(facts), facts)
    return _BY_STATUS.get(int(facts.get("status", 0)), RefusedError)(text + _advice(facts, text), facts)


def _since(facts: Mapping[str, Any]) -> str:
    """The orders that another client gave in the meantime, and what to do, in a sentence."""
    changed = facts.get("changed") or []
    orders = ", ".join(f"{each['kind']} ({each['seq']}, by {each['who']})" for each in changed[:_LISTED])
    listed = f"These orders came first: {orders}{', ...' if len(changed) > _LISTED else ''}" if orders else "All orders are in run.log()"
    return f" {listed}; call run.info() and give the order again."


def _advice(facts: Mapping[str, object], text: str) -> str:
    """The allowed values that the text does not name yet."""
    nearest, allowed = facts.get("nearest"), facts.get("allowed")
    if "Did you mean" in text or "Known:" in text or facts.get("code") in ("date-outside-forcing", "not-computed"):  # it says all
        return ""
    if nearest is not None:
        return f' Did you mean "{nearest}"?'
    if isinstance(allowed, list) and allowed and all(isinstance(each, str) for each in allowed):
        return f" Known: {', '.join(allowed[:_LISTED])}{', ...' if len(allowed) > _LISTED else ''}."
    return ""


def lasting(error: BaseException, url: str, met: bool) -> str:
    """The text for a failure that lasts; "" for one that may pass.

    met: a server has answered at this address before. Then its name is right, and only the network is away.
    """
    for each in _causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            text = f"The certificate of {url} is not accepted: {each.verify_message.rstrip('.')}."
            return f"{text} Give an ssl.SSLContext that trusts it: steppe.connect(address, verify=...)."
        if isinstance(each, ssl.SSLError) and each.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
            return f"{url} speaks no TLS. Is its address http://...?"
        if isinstance(each, socket.gaierror) and each.errno in UNKNOWN and not met:
            return f'The host name "{urlsplit(url).hostname}" of {url} is not known. Give the address that steppe serve printed.'
    return ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came from, the last one first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
