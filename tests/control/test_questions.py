"""What an engine is asked once for all who look, and how long an answer is right."""

from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from steppe.api.query import MapQuery
from steppe.control.framing import FrameReader, attach_cells, frame
from steppe.control.orders import Refused
from steppe.control.server.questions import FRESH, Answer, Questions
from steppe.control.wire import Buffer, Get, Message, Position

MAP = MapQuery(name="water")


class Desk:
    """A branch that people have heard stands at `at`."""

    def __init__(self, steps: bool = True) -> None:
        self.at, self.time, self.steps = Position(5, 0), 0.0, steps
        self.shown = 0
        self.dispatch = self.journal = self
        self.sent: list[Get] = []
        self.bodies: list[bytes] = []
        self.told: list[Any] = []
        self.questions = Questions(self, lambda: self.time)

    def position(self, branch: int) -> Position:
        return self.at

    def known(self, branch: int) -> Position:
        return self.at

    def branch(self, number: int) -> Any:
        return SimpleNamespace(shown_step=max(self.shown, self.at.step))

    def rests(self, branch: int) -> bool:
        return not self.steps

    def send(self, message: Message, body: Buffer = b"") -> None:
        assert isinstance(message, Get)
        self.sent.append(message)
        self.bodies.append(bytes(body))

    def ask(self) -> None:
        self.questions.ask(1, MAP, self.told.append)

    def answer(self, step: int) -> Answer:
        """The engine answers what it was asked last, and people hear where it stands."""
        given: Answer = ({"step": step}, bytes(8))
        self.at = max(self.at, Position(step, 0))
        self.questions.came(self.sent[-1].id, Position(step, 0), given)
        return given


def test_while_a_run_goes_on_an_answer_is_given_again_for_a_moment():
    desk = Desk()
    desk.ask()
    given = desk.answer(7)
    desk.time += 0.9 * FRESH
    desk.ask()
    assert (len(desk.sent), desk.told) == (1, [given, given])
    desk.time += 0.2 * FRESH
    desk.ask()
    assert (len(desk.sent), len(desk.told)) == (2, 2)
    assert desk.sent[-1].have == Position(7, 0)
    desk.questions.same(desk.sent[-1].id)
    desk.time += 0.9 * FRESH
    desk.ask()
    assert (len(desk.sent), desk.told) == (2, [given] * 4)


def test_an_answer_is_never_of_before_what_was_heard():
    desk = Desk()
    desk.ask()
    desk.answer(7)
    desk.at = Position(7, 3)  # a change has been applied, and who ordered it was told
    desk.ask()
    assert len(desk.sent) == 2


def test_an_answer_is_never_of_before_a_step_that_an_event_told_of():
    desk = Desk()
    desk.ask()
    desk.answer(7)
    desk.shown = 8  # an event of the step has happened, and who ordered the step was told that it is done
    desk.ask()
    assert len(desk.sent) == 2


def test_many_who_ask_at_once_ask_the_engine_once():
    desk = Desk()
    for _ in range(20):
        desk.ask()
    assert len(desk.sent) == 1
    given = desk.answer(7)
    assert desk.told == [given] * 20


def test_who_has_heard_of_a_later_step_does_not_join_a_question_of_before():
    desk = Desk()
    desk.ask()
    desk.at = Position(6, 0)
    desk.ask()
    assert len(desk.sent) == 2


def test_at_rest_an_answer_stays_right():
    desk = Desk(steps=False)
    desk.ask()
    given = desk.answer(5)
    desk.time += 1000.0
    desk.ask()
    assert (len(desk.sent), desk.told) == (1, [given, given])


def test_a_question_carries_as_many_cells_as_a_grid_has_and_a_key_stays_short():
    desk = Desk()
    cells = bytes(4 * 1_000_000)
    desk.questions.ask(1, replace(MAP, chosen=cells), desk.told.append)
    sent = b"".join(frame(desk.sent[0], desk.bodies[0]))
    reader, view = FrameReader(at_engine=True), memoryview(sent)
    while view:
        count = min(len(reader.space()), len(view))
        reader.space()[:count] = view[:count]
        found, view = reader.filled(count), view[count:]
    assert attach_cells(*found).query == replace(MAP, chosen=cells)
    assert max(len(query.chosen) for _, query in [each.key for each in desk.questions._under_way.values()]) < 200
    desk.questions.ask(1, replace(MAP, chosen=bytes(4)), desk.told.append)
    assert len(desk.sent) == 2, "other cells are another question"


def test_a_question_about_a_branch_that_was_closed_meanwhile_is_asked_again():
    desk = Desk()
    desk.ask()
    desk.questions.refused(desk.sent[-1].id, Refused("engine-recovering", "Branch 1 is not loaded."))
    assert desk.told == []
    desk.questions.ask_on()
    assert len(desk.sent) == 2
    assert desk.told == [desk.answer(5)]


def test_answers_of_where_a_branch_stood_before_are_given_up_and_those_about_steps_that_are_over_stay():
    desk = Desk(steps=False)
    for step in range(6, 40):
        desk.at = Position(step, 0)
        desk.questions.ask(1, MapQuery(name=f"variable {step}"), desk.told.append)
        desk.answer(step)
        desk.questions.ask(1, MapQuery(name="water", step=step - 1), desk.told.append)
        desk.questions.came(desk.sent[-1].id, Position(step - 1, 0), ({}, bytes(8)))
    assert desk.questions._kept_bytes == 8 * (1 + 34)
    attach_cells = len(desk.sent)
    desk.questions.ask(1, MapQuery(name="variable 39"), desk.told.append)
    desk.questions.ask(1, MapQuery(name="water", step=5), desk.told.append)
    assert len(desk.sent) == attach_cells
    desk.questions.discard(1)
    assert (desk.questions._kept_bytes, desk.questions.answered) == (0, set())


def test_an_answer_that_is_given_up_while_the_engine_says_that_it_holds_is_still_given():
    desk = Desk()
    desk.ask()
    first = desk.answer(5)
    desk.time += 2 * FRESH
    desk.ask()
    desk.questions.discard(1)
    desk.questions.same(desk.sent[-1].id)
    assert desk.told == [first, first]


def test_where_a_server_ends_questions_are_refused_those_that_come_later_too():
    desk, why = Desk(), Refused("draining", "The server is ending.")
    desk.ask()
    desk.questions.close(why)
    desk.ask()
    desk.questions.close(Refused("unknown-run", "The run has been ended."))
    desk.ask()
    assert (len(desk.sent), desk.told) == (1, [why, why, why])
