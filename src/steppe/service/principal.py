"""The caller of a service, and what its role allows."""

from dataclasses import dataclass

from steppe.api import ROLES
from steppe.control import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller with a role. run: the only run that it sees, "" for all."""

    name: str
    role: str
    run: str = ""

    def sees(self, run: str) -> bool:
        """True if a run is there for it."""
        return self.run in ("", run)


def check_role(who: Principal | None, role: str, read_only: bool) -> None:
    """Checks that a caller may do what needs a role.

    Raises
    ------
    Refused
        role-too-low; read-only, where no caller may order anything.
    """
    if read_only and role != "view":
        raise Refused("read-only", "This server shows its runs and takes no orders.", value=role, allowed="view")
    if who is None or ROLES.index(who.role) < ROLES.index(role):
        given = who.role if who else "none"
        raise Refused("role-too-low", f'This needs the role "{role}"; the token has "{given}".', value=given, allowed=role)
