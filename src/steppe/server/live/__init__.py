"""The live socket: frames of variables as a run goes, and what happens to it. `docs/live.md` has the messages.

engine ──> channel, one slot ──> viewer ──> line ──> one client      a viewer whose line is not free is passed over
run ──> feed, one text for all ──┘
"""

from steppe.server.live.line import SocketProtocol, ViewerLink
from steppe.server.live.visit import check_protocol, serve_viewer

__all__ = ["SocketProtocol", "ViewerLink", "check_protocol", "serve_viewer"]
