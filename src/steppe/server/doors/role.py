"""What a token's role lets it do; the table of routes says what is needed."""

from steppe.control import Refused
from steppe.server.asked import Asked


def check_role(asked: Asked) -> None:
    """Raises Refused: role-too-low; read-only, where nobody may order anything."""
    route, who = asked.route, asked.principal
    assert route is not None
    if asked.house.read_only and route.role not in ("-", "view"):
        raise Refused("read-only", "This server shows its runs and takes no orders.", value=route.role, allowed="view")
    if route.role != "-" and (who is None or not who.may(route.role)):
        role = who.role if who else "none"
        raise Refused("role-too-low", f'This needs the role "{route.role}"; the token has "{role}".', value=role, allowed=route.role)
