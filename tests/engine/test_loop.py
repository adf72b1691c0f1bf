"""The threads of an engine's process, one against the other."""

import threading
from pathlib import Path
from typing import Any

from steppe.control import Position
from steppe.control.wire import OPEN_END, Heartbeat, Leg, Load, Ready
from steppe.engine import loop
from steppe.engine.ranks import Ranks


def test_no_heartbeat_reports_an_old_position_behind_the_load_that_takes_a_branch_back(tmp_path: Path, monkeypatch: Any) -> None:
    engine, said, beaten = loop.EngineLoop(tmp_path, 1, Ranks(), lambda: False), list[Any](), threading.Event()

    def send(message: Any, body: Any = b"") -> None:
        said.append(message)
        beaten.set()

    class Endpoint:
        """Takes a branch back, for as long as a heartbeat takes."""

        def receive(self, load: Load) -> None:
            send(Ready(load.branch, Position(20, 0)))
            beaten.clear()
            assert beaten.wait(10)

    monkeypatch.setattr(loop, "BEAT", 0.001)
    monkeypatch.setattr(engine._line, "send", send)
    engine._positions, engine._doing = {1: Position(55, 0)}, ""
    threading.Thread(target=engine._beat, daemon=True).start()
    assert beaten.wait(10)
    engine._take(Endpoint(), Load(1, [Leg(1, OPEN_END, OPEN_END)]))
    monkeypatch.setattr(loop, "BEAT", 1e6)
    behind = said[said.index(Ready(1, Position(20, 0))) :]
    assert [each for each in behind if isinstance(each, Heartbeat)]
    assert not any(each.positions for each in behind if isinstance(each, Heartbeat))
