"""Whether the ranks are evenly busy, from how long each of them computed between checkpoints; what was found outlives the session."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from steppe.engine.branch import Branch
from steppe.engine.check import checkpoint_size
from steppe.errors import Failure
from steppe.grid import CostLattice, Moving, Partition, better_cuts, imbalance
from steppe.grid.cost import TOLERATED
from steppe.io import RunFolder


class Balance:
    """What is known of the cost of cells. ranks: how many there are; step: the first one that is measured."""

    def __init__(self, n_cells: int, ranks: int, step: int) -> None:
        self.lattice = CostLattice(n_cells)
        self._busy: Sequence[float] = [0.0] * ranks
        self._step = step
        self._part = -1  # whose times are known
        self._commits = 0  # since the cells were last dealt out

    def measured(self, on: Branch, say: Callable[[str, str], object]) -> Partition | None:
        """What `better` finds after a checkpoint of a branch; what is known of the cost of cells is left for the next session.

        say: gets kind and text of what a person may want to know.
        """
        part, step = on.crew.part(on.part), on.position.step
        now = part.cut.partition
        if now is None or now.ranks == 1:
            return None
        if self._part not in (-1, on.part):  # of other models, whose times begin at 0
            self._busy, self._step = on.order("tell_busy"), step
        self._part = on.part
        moving = Moving(checkpoint_size(part.model) // max(len(part.deal.mine), 1), pause=2 * on.settled.seconds)
        found = self.better(now, on.order("tell_busy"), step, on.plan.steps, moving)
        part.outputs.writer.do(lambda: self.keep(on.settled.folder))
        if found is not None:
            say("note", f"Shares are cut anew: the ranks were uneven by {100 * imbalance(self.lattice.loads(now)):.0f} %.")
        return found

    def better(self, now: Partition, busy: Sequence[float], step: int, steps: int, moving: Moving) -> Partition | None:
        """Other shares, when the present ones are uneven and moving pays by far; asked once after each checkpoint.

        Parameters
        ----------
        now
            The shares there are.
        busy
            How long each rank has computed so far [s].
        step, steps
            Steps done, and of the whole run.
        moving
            What it would take.
        """
        since, before = step - self._step, self._busy
        self._busy, self._step = busy, step
        if since <= 0:
            return None
        self.lattice.feed(now, [each - earlier for each, earlier in zip(busy, before, strict=True)], since)
        self._commits += 1
        found = better_cuts(self.lattice, now, steps - step, self._commits, moving)
        if found is not None:
            self._commits = 0
        return found

    def keep(self, folder: RunFolder) -> None:
        """Leaves what is known for the next session. It is advice: where it cannot be written, the next one measures anew."""
        with suppress(Failure):
            folder.keep_costs(self.lattice.kept())

    def begin(self, now: Partition, folder: RunFolder) -> Partition | None:
        """Shares to begin with, when the present ones are uneven by what an earlier session left, whatever ranks it had."""
        self.lattice.recall(folder.costs())
        if imbalance(self.lattice.loads(now)) <= TOLERATED:
            return None
        return Partition.cells(now.n_cells, now.ranks, self.lattice.weights())
