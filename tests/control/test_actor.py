"""The engine's end of the conversation, message by message."""

from typing import Any

from steppe.control.actor import Actor
from steppe.control.wire import OPEN_END, Action, Leg, Load, Position, Ready, Target
from tests.control.simulation import Disk, ToyStage, World

OWN = [Leg(1, OPEN_END, OPEN_END)]


def test_a_branch_that_is_taken_back_waits_for_what_happened_on_its_way():
    world, said = World(0), list[Any]()
    stage = ToyStage(world, Disk())
    actor = Actor(stage, lambda message, body: said.append(message), world.now)
    actor.hear(Load(1, OWN))
    actor.hear(Action(1, 1, 1, 0, 0, "set", {"amount": 5}))
    actor.hear(Target(1, 7))
    while actor.turn() and stage.position(1).step < 7:
        pass
    actor.hear(Action(2, 1, 2, 7, 7, "set", {"amount": 5}))
    actor.turn()
    assert stage.position(1) == Position(7, 2)
    actor.hear(Load(1, [Leg(1, 7, 1)]))  # nobody has heard what the second action did
    back = stage.position(1)
    assert back < (7, 1)
    assert said[-1] == Ready(1, back)
    for _ in range(5):
        actor.turn()
    assert stage.position(1) == back, "it would overtake the first action, which is not said again yet"
