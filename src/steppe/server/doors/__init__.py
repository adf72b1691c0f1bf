"""The checks of a request before its route. Each returns or raises `Refused`; none waits, and none reads a body.

    host -> proxy -> prefix -> cookie of another site -> route -> identity -> rate -> size -> authentication -> origin -> role -> key

Deadlines and the size of headers are before all of them, in the protocol class, for only it sees a request that is not complete.
"""

from steppe.server.doors.authentication import authenticate, check_role, identify
from steppe.server.doors.content import check_key, check_size, check_type
from steppe.server.doors.origin import Hosts, Origins
from steppe.server.doors.proxy import Prefix, Proxies
from steppe.server.doors.rate import RequestRates, payer

__all__ = [
    "Hosts",
    "Origins",
    "Prefix",
    "Proxies",
    "RequestRates",
    "authenticate",
    "check_key",
    "check_role",
    "check_size",
    "check_type",
    "identify",
    "payer",
]
