"""The engine's end of the conversation, message by message."""

from typing import Any

from steppe.api.query import MapQuery
from steppe.control.engine.endpoint import EngineEndpoint
from steppe.control.wire import OPEN_END, BranchAction, BranchFailure, Data, Get, Leg, Load, Position, Ready, Target
from steppe.errors import BadCellError
from tests.control.simulation import Disk, ToySession, World

OWN = [Leg(1, OPEN_END, OPEN_END)]


def test_a_branch_that_is_taken_back_waits_for_what_happened_on_its_way():
    world, said = World(0), list[Any]()
    session = ToySession(world, Disk())
    endpoint = EngineEndpoint(session, lambda message, body: said.append(message), world.now)
    endpoint.receive(Load(1, OWN))
    endpoint.receive(BranchAction(1, 1, 1, 0, 0, "set", {"amount": 5}))
    endpoint.receive(Target(1, 7))
    while endpoint.poll() and session.position(1).step < 7:
        pass
    endpoint.receive(BranchAction(2, 1, 2, 7, 7, "set", {"amount": 5}))
    endpoint.poll()
    assert session.position(1) == Position(7, 2)
    endpoint.receive(Load(1, [Leg(1, 7, 1)]))  # nobody has heard what the second action did
    back = session.position(1)
    assert back < (7, 1)
    assert said[-1] == Ready(1, back)
    for _ in range(5):
        endpoint.poll()
    assert session.position(1) == back, "it would overtake the first action, which is not said again yet"


def test_questions_that_take_long_do_not_keep_the_branches_from_going_on(monkeypatch):
    world, said = World(0), list[Any]()
    session, get = ToySession(world, Disk()), ToySession.get

    def slow(session: ToySession, branch: int, query: MapQuery) -> Any:
        world.time += 1.0
        return get(session, branch, query)

    monkeypatch.setattr(ToySession, "get", slow)
    endpoint = EngineEndpoint(session, lambda message, body: said.append(message), world.now)
    endpoint.receive(Load(1, OWN))
    endpoint.receive(Target(1, 400))
    for number in range(5):
        endpoint.receive(Get(number, 1, MapQuery(), None))
    for number in range(5):
        before = session.position(1)
        assert endpoint.poll()
        assert session.position(1) > before
        assert [each.id for each in said if isinstance(each, Data)] == [*range(number + 1)]


def test_questions_of_the_last_server_are_not_answered_to_the_next_which_numbers_its_own_anew():
    world, said = World(0), list[Any]()
    endpoint = EngineEndpoint(ToySession(world, Disk()), lambda message, body: said.append(message), world.now)
    endpoint.receive(Load(1, OWN))
    endpoint.receive(Get(1, 1, MapQuery(), None))
    endpoint.greet()
    endpoint.poll()
    assert not [each for each in said if isinstance(each, Data)]


def test_branches_that_meet_bad_cells_in_one_piece_report_an_error_each(monkeypatch):
    world, said = World(0), list[Any]()
    session = ToySession(world, Disk())
    endpoint = EngineEndpoint(session, lambda message, body: said.append(message), world.now)
    for branch in (1, 2):
        endpoint.receive(Load(branch, [Leg(branch, OPEN_END, OPEN_END)]))
        endpoint.receive(Target(branch, 7))
    bad = {1: BadCellError("water is nan"), 2: BadCellError("water is inf")}

    def advance(*arguments: object) -> None:
        raise bad[1].among(bad)

    monkeypatch.setattr(session, "advance", advance)
    endpoint.poll()
    assert {each.branch: each.text for each in said if isinstance(each, BranchFailure)} == {1: "water is nan", 2: "water is inf"}
