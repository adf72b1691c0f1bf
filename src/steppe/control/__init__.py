"""What holds a steered run together: the journal of commands, exactly-once, supervision, and the wire between server and engine.

Both ends are here and use it: the server's (`Supervisor`, `Journal`) and the engine's (`Actor`). It knows no model, no ranks, no HTTP.
"""

from steppe.control.journal import Journal as Journal
from steppe.control.orders import Accepted as Accepted
from steppe.control.orders import Command as Command
from steppe.control.orders import Order as Order
from steppe.control.orders import Refused as Refused
from steppe.control.wire import OPEN_END as OPEN_END
from steppe.control.wire import Leg as Leg
from steppe.control.wire import Outcome as Outcome
from steppe.control.wire import Position as Position
from steppe.control.wire import Saved as Saved
