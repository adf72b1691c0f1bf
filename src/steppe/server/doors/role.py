"""The role of a token, compared with the role that the route needs."""

from steppe.server.request import Request
from steppe.service.principal import check_role as check


def check_role(request: Request) -> None:
    """Raises Refused: role-too-low; read-only, if the server takes no orders."""
    assert request.route is not None
    if request.route.role != "-":
        check(request.principal, request.route.role, request.context.read_only)
