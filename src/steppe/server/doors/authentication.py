"""The principal of a request: by a token in a header, or by the cookie of a login. An address never holds a token.

Then its role is compared with the one that the route needs.
"""

from urllib.parse import parse_qs

from steppe.control import Refused
from steppe.server.access import Visitor
from steppe.server.request import Request
from steppe.service.principal import check_role as check
from steppe.service.service import unknown_run


def identify(request: Request) -> None:
    """Finds the principal, and refuses nothing: a client with a wrong token is a stranger, whose rates are charged before it is refused."""
    request.principal = principal_of(request)


def authenticate(request: Request) -> None:
    """Refuses a request without a principal, except at routes that are open to all.

    Raises
    ------
    Refused
        not-authenticated: a token or cookie is wrong or over; token-in-address: it is revoked; unknown-run: the token was not made for it.
    """
    query = request.scope["query_string"]
    if b"token" in query:
        _refuse_query(request, query)
    assert request.route is not None
    if request.principal is None and request.route.role != "-":
        given = b"authorization" in request.headers or cookie_of(request) is not None
        if request.scope["type"] == "websocket" and not given:
            return  # its first message has the token
        text = "The token or session is not known, or is over." if given or b"cookie" in request.headers else "No token was sent."
        raise Refused("not-authenticated", text)
    name = request.parameters.get("run")
    if request.principal is not None and name is not None and not request.principal.sees(name):  # not told from one that is not there
        raise unknown_run(name, [request.principal.run])


def principal_of(request: Request) -> Visitor | None:
    """The holder of the token or session of a request."""
    given = request.headers.get(b"authorization")
    if given is not None:
        scheme, _, token = given.partition(b" ")
        return request.context.access.by_token(token.strip()) if scheme.lower() == b"bearer" else None
    cookie = cookie_of(request)
    return None if cookie is None else request.context.access.by_session(cookie)


async def still_valid(request: Request) -> bool:
    """Whether the token or session of a request is valid now, by the files of tokens as they are."""
    await request.context.access.look()
    return principal_of(request) is not None


def tokens_of(request: Request) -> list[bytes | str]:
    """All tokens that a request holds, where they belong and where they do not."""
    scheme, _, token = request.headers.get(b"authorization", b"").partition(b" ")
    return [*([token.strip()] if scheme.lower() == b"bearer" else []), *_in_query(request.scope["query_string"])]


def _in_query(query: bytes) -> list[str]:
    given = parse_qs(query.decode("latin-1")) if b"token" in query else {}
    return [token for name in ("token", "access_token") for token in given.get(name, ())]


def _refuse_query(request: Request, query: bytes) -> None:
    for token in _in_query(query):
        request.context.access.revoke(token)
        raise Refused(
            "token-in-address", "Addresses are written into logs and histories. This token is no longer taken; have a new one made."
        )


def cookie_name(request: Request) -> str:
    """The name of the cookie; servers on other ports of the same machine, or with other prefixes behind one proxy, have others."""
    server = request.scope.get("server")
    return f"steppe_{server[1] if server and server[1] else 0}{request.prefix.replace('/', '+')}"


def cookie_of(request: Request) -> str | None:
    """The cookie of this server; None when there is none, or several: another site may have set one of them.

    jupyter-server-proxy names its prefix in requests, but not in those for a socket: there the prefix is that of the cookie.
    """
    given = request.headers.get(b"cookie")
    if given is None:
        return None
    name = cookie_name(request)
    pairs = (part.strip().partition("=") for part in given.decode("latin-1").split(";"))
    mine = [(key, value) for key, _, value in pairs if key == name or (not request.prefix and key.startswith(f"{name}+"))]
    found = [value for key, value in mine if key == name] or [value for _, value in mine]
    return found[0] if len(found) == 1 else None


def check_role(request: Request) -> None:
    """Raises Refused: role-too-low; read-only, if the server takes no orders."""
    assert request.route is not None
    if request.route.role != "-":
        check(request.principal, request.route.role, request.context.read_only)
