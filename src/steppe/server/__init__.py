"""The HTTP server: requests, sessions, formats. It knows no ranks, no kernels and no models; the runs are handed in.

Parts are imported when they are used.
"""

from typing import TYPE_CHECKING

from steppe.lazy import when_used

if TYPE_CHECKING:
    from steppe.control.server.supervisor import Supervisor as Supervisor
    from steppe.server.access import Access as Access
    from steppe.server.application import Server as Server
    from steppe.server.limits import Limits as Limits
    from steppe.server.serve import configuration as configuration
    from steppe.server.serve_options import ServeOptions as ServeOptions
    from steppe.server.tokens import Token as Token
    from steppe.server.tokens import new_token as new_token

__getattr__, __dir__, __all__ = when_used(__name__, __file__)
