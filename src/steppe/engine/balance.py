"""Balances the shares of the ranks by the time that each of them computed between checkpoints; the next session begins with it."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from steppe.costs import CostLattice, MoveCost, better_cuts, first_cuts, imbalance
from steppe.engine.branch import Branch
from steppe.engine.check import checkpoint_size
from steppe.errors import Failure
from steppe.grid import Partition
from steppe.io import RunFolder, read_costs


class Balance:
    """The measured cost of cells."""

    def __init__(self, n_cells: int) -> None:
        self.lattice = CostLattice(n_cells)
        self._last: dict[int, tuple[Sequence[float], int]] = {}  # for each state: seconds that its ranks were busy, up to which step
        self._commits = 0  # since the cells were last dealt out

    def measured(self, on: Branch, say: Callable[[str, str], object]) -> Partition | None:
        """Other shares, if the present ones are uneven and moving pays by far; called once after each checkpoint of a branch.

        The costs are kept in the run folder for the next session. say: gets kind and text of a note for the user.
        """
        state, step = on.state, on.position.step
        now = state.cut.partition
        if now is None or now.ranks == 1:
            return None
        busy: Sequence[float] = on.order("tell_busy")
        before, start = self._last.get(on.state_id, (busy, step))
        self._last[on.state_id] = busy, step
        if step <= start:
            return None
        self.lattice.feed(now, [each - earlier for each, earlier in zip(busy, before, strict=True)], step - start)
        self._commits += 1
        moving = MoveCost(checkpoint_size(state.model) // max(len(state.deal.mine), 1), pause=2 * on.settled.seconds)
        found = better_cuts(self.lattice, now, on.plan.steps - step, self._commits, moving)
        state.outputs.writer.do(lambda: self.keep(on.settled.folder))
        if found is not None:
            self._commits = 0
            say("note", f"Shares are cut anew: the ranks were uneven by {100 * imbalance(self.lattice.loads(now)):.0f} %.")
        return found

    def keep(self, folder: RunFolder) -> None:
        """Writes the costs for the next session. They are advice: if they cannot be written, the next session measures anew."""
        with suppress(Failure):
            folder.keep_costs(self.lattice.kept())

    def begin(self, now: Partition | None, folder: RunFolder) -> Partition | None:
        """Shares to begin with, if the present ones are uneven by the costs of an earlier session, with any number of ranks."""
        if now is None or now.ranks == 1:
            return None
        self.lattice.recall(read_costs(folder.path))
        return first_cuts(self.lattice, now)
