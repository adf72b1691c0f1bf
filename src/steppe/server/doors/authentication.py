"""Who is asking: a token in a header, or the cookie of somebody who logged in. An address never holds a token."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from steppe.control import Refused
from steppe.server.access import Visitor
from steppe.server.asked import Request
from steppe.service.service import unknown_run


def identify(asked: Request) -> None:
    """Finds the principal, and refuses nothing: a client with a wrong token is a stranger, whose rates are charged before it is refused."""
    asked.principal = principal_of(asked)


def authenticate(asked: Request) -> None:
    """Lets a request without a principal come no farther than what is open to all.

    Raises
    ------
    Refused
        not-authenticated: a token or cookie is wrong or over; token-in-address: it is revoked; unknown-run: the token was not made for it.
    """
    query = asked.scope["query_string"]
    if b"token" in query:
        _refuse_query(asked, query)
    assert asked.route is not None
    if asked.principal is None and asked.route.role != "-":
        given = b"authorization" in asked.headers or cookie_of(asked) is not None
        if asked.scope["type"] == "websocket" and not given:
            return  # its first message says a token
        text = "The token or session is not known, or is over." if given or b"cookie" in asked.headers else "No token was sent."
        raise Refused("not-authenticated", text)
    name = asked.parameters.get("run")
    if asked.principal is not None and name is not None and not asked.principal.sees(name):  # not told from one that is not there
        raise unknown_run(name, [asked.principal.run])


def principal_of(asked: Request) -> Visitor | None:
    """Whose token or session a request has now."""
    given = asked.headers.get(b"authorization")
    if given is not None:
        scheme, _, token = given.partition(b" ")
        return asked.house.access.by_token(token.strip()) if scheme.lower() == b"bearer" else None
    cookie = cookie_of(asked)
    return None if cookie is None else asked.house.access.by_session(cookie)


def tokens_of(asked: Request) -> list[bytes | str]:
    """All tokens that a request holds, where they belong and where they do not."""
    scheme, _, token = asked.headers.get(b"authorization", b"").partition(b" ")
    return [*([token.strip()] if scheme.lower() == b"bearer" else []), *_in_query(asked.scope["query_string"])]


def _in_query(query: bytes) -> list[str]:
    given = parse_qs(query.decode("latin-1")) if b"token" in query else {}
    return [token for name in ("token", "access_token") for token in given.get(name, ())]


def _refuse_query(asked: Request, query: bytes) -> None:
    for token in _in_query(query):
        asked.house.access.revoke(token)
        raise Refused(
            "token-in-address", "Addresses are written into logs and histories. This token is no longer taken; have a new one made."
        )


def cookie_name(scope: Mapping[str, Any]) -> str:
    """The name of the cookie; servers on other ports of the same machine have others."""
    server = scope.get("server")
    return f"steppe_{server[1] if server and server[1] else 0}"


def cookie_of(asked: Request) -> str | None:
    """The cookie of this server; None when there is none, or several: one of them was put there by somebody else."""
    given = asked.headers.get(b"cookie")
    if given is None:
        return None
    name = cookie_name(asked.scope)
    pairs = (part.strip().partition("=") for part in given.decode("latin-1").split(";"))
    found = [value for key, _, value in pairs if key == name]
    return found[0] if len(found) == 1 else None
