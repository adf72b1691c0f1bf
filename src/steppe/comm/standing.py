"""Standing messages of worlds that have no better way: each time new ones."""

from steppe.comm.world import Messages, Request, World


class Repeated:
    """Messages that are sent and received anew each time; they are `steppe.comm.world.Standing`."""

    def __init__(self, world: World, receives: Messages, sends: Messages, tag: int) -> None:
        self._world = world
        self._receives, self._sends, self._tag = receives, sends, tag
        self._live: list[Request] = []

    def expect(self) -> None:
        """Starts to fill."""
        self._live = [self._world.receive(array, source, self._tag) for source, array in self._receives]

    def send(self) -> None:
        """Starts to send."""
        self._live += [self._world.send(array, to, self._tag) for to, array in self._sends]

    def test(self) -> bool:
        """True when all has come and left."""
        return all(request.test() for request in self._live)

    def wait(self) -> None:
        """Returns when all has come and left."""
        for request in self._live:
            request.wait()
        self._live = []

    def close(self) -> None:
        """Does nothing."""
