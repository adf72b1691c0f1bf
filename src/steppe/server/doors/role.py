"""What a token's role lets it do; the table of routes says what is needed."""

from steppe.server.asked import Request
from steppe.service.principal import check_role as check


def check_role(asked: Request) -> None:
    """Raises Refused: role-too-low; read-only, where nobody may order anything."""
    assert asked.route is not None
    if asked.route.role != "-":
        check(asked.principal, asked.route.role, asked.house.read_only)
