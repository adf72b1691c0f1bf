"""Control of a served run: the server's end (`control.server`), the engine's end (`control.engine`), and the wire that both share.

The server's end holds the journal of commands and supervises engines. The engine's end performs orders at their steps. Neither imports the
other. Nothing here knows models, ranks or HTTP.
"""

from steppe.control.orders import Command as Command
from steppe.control.orders import CommandReceipt as CommandReceipt
from steppe.control.orders import Order as Order
from steppe.control.orders import Refused as Refused
from steppe.control.wire import OPEN_END as OPEN_END
from steppe.control.wire import Leg as Leg
from steppe.control.wire import Outcome as Outcome
from steppe.control.wire import Position as Position
from steppe.control.wire import SavedCheckpoint as SavedCheckpoint
