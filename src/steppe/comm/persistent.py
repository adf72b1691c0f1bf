"""Persistent messages for worlds without prepared ones: each pass sends new messages."""

from steppe.comm.world import MessageRequest, Messages, World


class RepeatedMessages:
    """Messages that are sent and received anew each time; they fulfil `steppe.comm.world.PersistentMessages`."""

    def __init__(self, world: World, receives: Messages, sends: Messages, tag: int) -> None:
        self._world = world
        self._receives, self._sends, self._tag = receives, sends, tag
        self._live: list[MessageRequest] = []

    def expect(self) -> None:
        """Starts to receive."""
        self._live = [self._world.receive(array, source, self._tag) for source, array in self._receives]

    def send(self) -> None:
        """Starts to send."""
        self._live += [self._world.send(array, to, self._tag) for to, array in self._sends]

    def test(self) -> bool:
        """True when all messages have passed."""
        return all(request.test() for request in self._live)

    def wait(self) -> None:
        """Returns when all messages have passed."""
        for request in self._live:
            request.wait()
        self._live = []

    def close(self) -> None:
        """Does nothing."""
