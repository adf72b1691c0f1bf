"""The journal, the supervisor and the endpoint under deaths, cut links, hanging engines and full disks."""

from dataclasses import replace
from unittest.mock import patch

import pytest

from steppe.control import Position
from steppe.control.engine.endpoint import LateError
from steppe.control.server.engine_process import Link
from steppe.control.server.journal import Journal
from steppe.control.server.supervisor import Supervisor
from steppe.control.wire import Buffer, Hello, Message, Pin
from tests.control.simulation import play


@pytest.mark.parametrize("block", range(6))
def test_every_command_happens_once_in_the_journals_order(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        play(seed)


@pytest.mark.parametrize("block", range(2))
def test_a_journal_that_is_compacted_on_the_way_makes_no_difference(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        play(seed, compactions=2)


@pytest.mark.parametrize("seed", [6085, 6431, 7982])
def test_what_was_wrong_once_is_not_again(seed: int) -> None:
    """A branch that was taken back ran on before it was told again what had happened; an action was withdrawn that had happened."""
    play(seed)


class _Impatient(Supervisor):
    """Offers actions without a step although people have seen further ones, and its journal places them where the engine is."""

    def engine_connected(self, link: Link, hello: Hello) -> None:
        super().engine_connected(link, hello)
        self.dispatch.open = {number: replace(each, shown_step=0) for number, each in self.dispatch.open.items()}
        journal = self.journal

        def pin(seq: int, step: int) -> Position:
            with patch.object(journal, "branch", lambda number: replace(Journal.branch(journal, number), shown_step=0)):
                return Journal.pin(journal, seq, step)

        journal.pin = pin  # type: ignore[method-assign]


class _Forgetful(Supervisor):
    """Does not say that the journal holds the step of an action."""

    def send(self, message: Message, body: Buffer = b"") -> None:
        if not isinstance(message, Pin):
            super().send(message, body)


# from a seed on that fails; with one before it an impatient supervisor has work for 40 seconds
@pytest.mark.parametrize(("broken", "first"), [(_Impatient, 39), (_Forgetful, 2)])
def test_the_simulation_notices_a_rule_that_is_missing(broken: type[Supervisor], first: int) -> None:
    def fails(seed: int) -> bool:
        try:
            play(seed, supervisor=broken)
        except (AssertionError, LateError):
            return True
        return False

    assert any(fails(seed) for seed in range(first, first + 100))
