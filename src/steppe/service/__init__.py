"""Questions and orders of a principal, without any protocol: plain values go in, arrays and `Refused` come out.

`Service` knows the runs. `Orders` gives orders, `rules` adds events and triggers, `maps` and `series` ask for values, `admission` begins
and ends runs.
"""

from steppe.control import Refused
from steppe.control.server.supervisor import Supervisor
from steppe.service.limits import WorkLimits
from steppe.service.orders import Orders, Receipt
from steppe.service.principal import Principal
from steppe.service.service import Opener, RunDescription, Service

__all__ = ["Opener", "Orders", "Principal", "Receipt", "Refused", "RunDescription", "Service", "Supervisor", "WorkLimits"]
