"""The journal, the supervisor and the actor under deaths, cut links, hanging engines and full disks."""

import pytest

from steppe.control.supervisor import Supervisor
from steppe.control.wire import Position
from tests.control.simulation import play


@pytest.mark.parametrize("block", range(10))
def test_every_command_happens_once_in_the_journals_order(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        play(seed)


class _NoPatience(Supervisor):
    """Offers an action without a step although people have seen further ones."""

    def _ready(self, branch: int, position: Position) -> None:
        super()._ready(branch, position)
        self._branches[branch] = self._branches[branch].__class__(**vars(self._branches[branch]) | {"shown_step": 0})


@pytest.mark.parametrize("broken", [_NoPatience])
def test_the_simulation_notices_a_rule_that_is_missing(broken: type[Supervisor]) -> None:
    def fails(seed: int) -> bool:
        try:
            play(seed, supervisor=broken)
        except AssertionError:
            return True
        return False

    assert any(fails(seed) for seed in range(100))
