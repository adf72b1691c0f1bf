"""What a server keeps of visits at the live socket that are over: nothing."""

import gc
import json

from websockets.sync.client import connect

from steppe.api import PROTOCOL
from steppe.server import Access, Limits
from steppe.server.application import application
from steppe.server.live import SocketProtocol
from tests.server.asking import TOKENS
from tests.server.listening import listening, wait_for
from tests.server.toy import Toy

WATCH = {"watch": [{"stream": 1, "variable": "green", "scenario": "main", "bits": 8, "rate": 10}]}


def sockets() -> list[SocketProtocol]:
    """Those that there are, over or not."""
    return [each for each in gc.get_objects() if issubclass(type(each), SocketProtocol)]


def test_a_visit_that_is_over_gives_its_memory_up_at_once(toy: Toy, access: Access) -> None:
    """The collector comes by seldom, and viewers come and go."""
    headers = {"Authorization": f"Bearer {TOKENS['view']}"}
    with listening(application({"toy": toy}, access, Limits.near())) as port:
        address = f"ws://127.0.0.1:{port}/api/v1/runs/toy/live"
        gc.collect()
        gc.disable()
        try:
            before = len(sockets())
            for _ in range(5):
                with connect(address, additional_headers=headers, subprotocols=[PROTOCOL], compression=None) as line:
                    line.send(json.dumps(WATCH))
                    while not isinstance(line.recv(timeout=30), bytes):
                        pass
            wait_for(lambda: len(sockets()) == before, 10)
        finally:
            gc.enable()


def test_nothing_is_written_after_the_close(toy: Toy, access: Access) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['view']}"}
    written: list[bytes] = []

    def end(one: SocketProtocol) -> None:
        one.write = written.append
        one.end(1012, "over")
        one.write(b"late")

    with listening(application({"toy": toy}, access, Limits.near())) as port:
        before = sockets()
        address = f"ws://127.0.0.1:{port}/api/v1/runs/toy/live"
        with connect(address, additional_headers=headers, subprotocols=[PROTOCOL], compression=None) as line:
            (one,) = (each for each in sockets() if each not in before)
            one.loop.call_soon_threadsafe(end, one)
            wait_for(lambda: line.close_code == 1012, 10)
    assert written == []
