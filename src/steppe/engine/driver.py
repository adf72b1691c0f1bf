"""Steps branches of a run piece by piece: the same driver for a script, for a server, and for past steps that are computed again.

end    events, triggers, the store of the weather, room for records, time ──> the step at which the next piece ends
step   events happen ──> one order to all ranks ──> cells that are bad, triggers that fire
"""

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter
from typing import NamedTuple

from steppe.engine.branch import Branch
from steppe.engine.recorder import PIECE
from steppe.engine.rule_runner import RuleRunner
from steppe.errors import BadCellError, SteppeError

MANY = 1000  # steps of a piece, whatever it costs beside them


class Driver:
    """Steps the branches of one run.

    Parameters
    ----------
    rule_runner
        Performs the rules of a branch.
    again
        The steps were done before: events happen without a report, and triggers, which only observe, are left out.
    """

    def __init__(self, rule_runner: RuleRunner, again: bool = False) -> None:
        self.pace = 0.0
        """Seconds of a step of one branch; 0 before the first."""
        self._rule_runner, self._again = rule_runner, again
        self._latest: deque[float] = deque(maxlen=2)  # the same of the last pieces; in the first a kernel is loaded
        self._steps = 0  # planned for the last piece
        self._cost = PieceCost()

    @property
    def least(self) -> float:
        """Seconds of a step in the faster one of the last two pieces; 0 before there are two."""
        return min(self._latest) if len(self._latest) > 1 else 0.0

    def up_to(self, on: Branch, step: int) -> None:
        """Computes a branch up to a step."""
        while on.position.step < step:
            self.step([on], self.end([on], step))

    def end(self, group: Sequence[Branch], until: int, seconds: float = inf, whole: bool = True) -> int:
        """The end of the next piece of branches that stand at the same step: at a cut of the store of the weather, if possible.

        Parameters
        ----------
        until
            The step at which it ends at the latest.
        seconds
            The time of the piece, for all branches together; up to twice that, where it can end at a cut. It has at most four times as
            many steps as the last one was to have; one of several branches has as many as cost what the piece costs beside its steps.
        whole
            Compute the piece as a whole or not at all. Otherwise it has at least `PIECE` steps, if possible: each piece decodes its slabs
            of weather anew.
        """
        start, plan, state = group[0].position.step, group[0].plan, group[0].state
        borders = [each.rules.border(start, plan.clock, plan.steps, not self._again) for each in group if each.rules]
        until = min(until, plan.steps, *borders)
        most = state.outputs.recorder.most_steps
        if state.world.size > 1:
            most = min(most, state.outputs.steps_between_exchanges)
        wanted = most
        if seconds < inf:
            wanted = max(int(seconds / (self.pace * len(group))) if self.pace else 1, self._cost.worthwhile if len(group) > 1 else 1)
            wanted = min(wanted, 4 * self._steps or 1)
        if not whole:
            wanted = max(PIECE, wanted)
        self._steps = max(1, min(most, wanted))
        stop = min(until, start + self._steps)
        if state.reader is None or stop <= start:
            return stop
        if state.reader.in_turns and whole:  # then the model computes no more at once
            return state.reader.pieces(range(start, stop))[0].stop
        if stop == until:
            return stop
        far = min(start + most, 2 * stop - start)  # a slab that is cut is decoded twice
        cuts = [each.stop for each in state.reader.pieces(range(start, min(until, far + 1))) if each.stop <= far]
        return max((cut for cut in cuts if cut <= stop), default=min(cuts, default=stop))

    def step(
        self, group: Sequence[Branch], stop: int, keep_last_step: bool = True, discard: Callable[[Branch], object] = lambda branch: None
    ) -> dict[int, BadCellError]:
        """Computes branches up to a step, with their rules; returns the error of each with a bad cell.

        Parameters
        ----------
        keep_last_step
            Keep what diagnostics of the last step need.
        discard
            Gets each branch whose state is unusable.

        Raises
        ------
        SteppeError
            The forcing or an upload is damaged, or results cannot be written. Each branch may stand anywhere between.
        """
        begin, steps = perf_counter(), stop - group[0].position.step
        ruled = [each for each in group if each.rules]
        try:
            for each in ruled:
                (self._rule_runner.make if self._again else self._rule_runner.events)(each)
            group[0].step(stop, group[1:], keep_last_step)
        except SteppeError:
            for each in group:
                discard(each)
            raise
        self._learn((perf_counter() - begin) / len(group), steps)
        bad = {each.number: error for each in group if (error := each.bad)} if group[0].ranks.consensus.bad else {}
        for each in group:
            if each.number in bad:
                discard(each)
            elif each in ruled and not self._again:
                self._rule_runner.triggers(each)
        return bad

    def _learn(self, seconds: float, steps: int) -> None:
        """Takes the time of a piece of one branch. Short pieces have overhead: one that was cut short does not raise the estimate."""
        pace = seconds / steps
        self._latest.append(pace)
        self._cost = self._cost.after(seconds, steps)
        if not self.pace or pace < self.pace:
            self.pace = pace
        elif steps >= self._steps:
            self.pace = (self.pace + pace) / 2


class PieceCost(NamedTuple):
    """Seconds of a piece of one branch: `beside` its steps, and `each` step.

    steps, seconds: of the last piece that told them apart; known: there was one.
    """

    beside: float = 0.0
    each: float = 0.0
    steps: int = 0
    seconds: float = 0.0
    known: bool = False

    def after(self, seconds: float, steps: int) -> "PieceCost":
        """With one more measurement: a piece of clearly another length tells both costs, others scale them."""
        if not self.steps:
            return PieceCost(0.0, seconds / steps, steps, seconds)
        if max(steps, self.steps) < 2 * min(steps, self.steps):
            now = seconds / (self.beside + self.each * steps)
            return self._replace(beside=now * self.beside, each=now * self.each)
        each = max(0.0, (seconds - self.seconds) / (steps - self.steps))
        return PieceCost(max(0.0, seconds - each * steps), each, steps, seconds, known=True)

    @property
    def worthwhile(self) -> int:
        """Steps that cost about as much as the rest of their piece. Two, until a second length has told what that is."""
        if not self.known:
            return 2
        return min(MANY, max(1, int(self.beside / self.each))) if self.each else MANY
