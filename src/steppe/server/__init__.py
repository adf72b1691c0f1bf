"""The HTTP server: requests, sessions, formats. It knows no ranks, no kernels and no models; the runs are handed in."""

from steppe.control.server.supervisor import Supervisor
from steppe.server.access import Access
from steppe.server.application import Server, application
from steppe.server.limits import Limits
from steppe.server.serve import configuration
from steppe.server.tokens import Token, new_token

__all__ = ["Access", "Limits", "Server", "Supervisor", "Token", "application", "configuration", "new_token"]
