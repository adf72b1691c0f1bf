"""What a token's role lets it do; the table of routes says what is needed."""

from steppe.server.request import Request
from steppe.service.principal import check_role as check


def check_role(request: Request) -> None:
    """Raises Refused: role-too-low; read-only, where nobody may order anything."""
    assert request.route is not None
    if request.route.role != "-":
        check(request.principal, request.route.role, request.context.read_only)
