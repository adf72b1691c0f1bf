"""The state of a branch on one rank: its cells, their weather, their records. Rank 0 commands, all ranks do the same.

Each method that is an order works in two halves. It does the rank's own work at once, which may fail. It returns the common work of all
ranks, which is called only if no rank failed. So no rank waits for a message of a failed one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from steppe import timeline
from steppe.api.expression import names_of, parse
from steppe.api.query import MapQuery
from steppe.array_types import Array
from steppe.arrays import ModelArrays
from steppe.comm import BoxReach, RankLocation, World, agreed
from steppe.costs import RETIRED, SpreadPrediction, spread_forcing
from steppe.engine.bad_cell import first_bad
from steppe.engine.digest import digest
from steppe.engine.evaluation import Evaluation
from steppe.engine.few_bits import begin_frames
from steppe.engine.gatherer import Gatherer, MadeArrays
from steppe.engine.outputs import Outputs, StateCopy
from steppe.engine.plan import Plan
from steppe.engine.query_cut import cut_of
from steppe.engine.setting import Setting
from steppe.engine.sites import ALL_ALIKE, RunSites
from steppe.errors import Failure, ModelError, SteppeError, authored
from steppe.grid import Decomposition
from steppe.io import Contents, Draft, FieldReader, ForcingReader, SpreadReader, load_checkpoint
from steppe.kernels.sums import totals
from steppe.models import Inputs
from steppe.variable import Role

Reader = ForcingReader | SpreadReader | FieldReader
Together = Callable[[], Any]
Begun = tuple[Mapping[str, int] | None, Mapping[str, Array]]  # numbers of records, unfinished records


def nothing() -> None:
    """The common work after most orders: none."""


class RankState:
    """The share of one rank of a branch.

    plan: the run, the same on every rank. world: all ranks. where: updated with each piece of steps, and printed when this rank fails.
    like: another state of the same run on this rank, whose weather is shared. in_pieces: the weather is asked for in short pieces, and
    slabs are kept decoded. sites: which ranks write the results and read the weather for others.

    Raises `Mistake` if the weather does not fit the run.
    """

    def __init__(
        self,
        plan: Plan,
        world: World,
        where: RankLocation,
        like: "RankState | None" = None,
        in_pieces: bool = True,
        sites: RunSites = ALL_ALIKE,
    ) -> None:
        self.plan, self.world, self.model, self._where = plan, world, plan.model, where
        self.sites: RunSites = like.sites if like else sites
        self.kept = 0  # checkpoints of which this rank's tiles are durable
        self.notes: list[str] = []  # for the user
        self._draft = Draft()
        self._digests: dict[int, bytes] = {}
        self._open = False
        self.torn = False  # a step failed half way: the state is unusable
        self._beside: Sequence[RankState] = ()
        self.reader: Reader | None = like.reader if like else plan.reader()
        self._shares = like is not None
        self._copies: dict[int, StateCopy] = like._copies if like else {}
        if isinstance(self.reader, ForcingReader) and like and in_pieces:
            self.reader.keep_slabs()
        self.arrays: ModelArrays = like.arrays if like else ModelArrays(world)
        self._take(like.cut if like else plan.decomposed(world.size, None, self.sites.writing), like)

    def _take(self, cut: Decomposition, like: "RankState | None" = None) -> None:
        """Builds share, reach and ownership for this rank's cells."""
        self.cut = cut
        self.share, self.deal, neighbours = cut.of(self.world.rank)
        self.reach = BoxReach(self.world, neighbours, totals, self.arrays)
        self.gatherer = Gatherer(self.world, self.deal, self.share)
        self._setting = Setting(self.plan, self.world, self.gatherer)
        self.outputs: Outputs = Outputs(self.plan, self.world, self.deal, like.outputs if like else None)
        self.outputs.recorder.on_piece = self._at
        mine, self._where.date = self.deal.mine, self.plan.clock.name
        self._where.cells = (mine.start, mine.stop) if isinstance(mine, range) and mine else None  # those of a box are no range

    def _tell_spread(self, name: str, predictions: Mapping[str, SpreadPrediction]) -> None:
        figures = ", ".join(f"{other} {1e3 * each.seconds:.2f}" for other, each in predictions.items())
        self.notes.append(f"Weather is read by spread {name}" + (f"; predicted, in ms a slab: {figures}." if figures else "."))

    # ---- orders ---------------------------------------------------------------------------------------------------------------------
    def spread(self) -> Together:
        """Chooses which ranks read the weather, and for which others."""
        spread, spare = self.plan.run.forcing.spread if self.plan.run.forcing else "", self.plan.threads < self.plan.cores
        if spread == RETIRED:
            spread = "auto"
            self.notes.append(f'There is no spread "{RETIRED}" any more: [forcing] spread is taken as "auto".')
        if self.world.size > 1 and isinstance(self.reader, ForcingReader):
            whose, able = (self.reader, self.world, self.deal.cells), self.sites.reading
            self.reader = spread_forcing(*whose, spread, spare, self.plan.cost, self._tell_spread, able)
        if self.world.size > 1 and isinstance(self.reader, FieldReader) and self.cut.boxes:
            self.reader.spread(self.world, self.cut.boxes, spread == "one")
        return nothing

    def open(self, output: str, checkpoint: str, muted: bool = False) -> Together:
        """Begins at the initial state or at a checkpoint. output: the store of results; "": there is none yet, see `settle`.

        muted: record nothing.
        """
        if muted:
            self.outputs.recorder.mute()
        return self._begin_with(lambda: self._initialise(checkpoint), output)

    def _begin_with(self, state: Callable[[], Begun], output: str) -> Together:
        """Begins with the state that `state` makes."""
        with agreed(self.world):
            records, recorded = state()
            self.outputs.open(Path(output) if output else None)
        if records is not None and output:
            self.outputs.writer.restore(records)
        elif records is not None:
            self.outputs.writer.begin_at(records)
        self.outputs.recorder.restore(recorded)
        return nothing

    def settle(self, output: str, source: str, records: dict[str, int]) -> Together:
        """Attaches the store of results of a branch, which shares the whole shards of the first `records` with the store `source`."""
        self.outputs.writer.settle(Path(output), Path(source), records)
        return nothing

    def flush(self) -> Together:
        """Begins to write all records behind the run."""
        return lambda: self.outputs.writer.commit_behind(lambda records: None)

    def remember(self, entry: int) -> Together:
        """Makes a copy of the state under a number; returns its bytes on all ranks."""
        self._copies[entry] = copy = self._copy()
        mine = sum(values.nbytes for values in (*self.model.state.values(), *copy.recorded.values()))
        return lambda: int(self.world.reduce(np.array([mine], np.int64), "sum")[0])

    def recall(self, entry: int, output: str, muted: bool = False) -> Together:
        """Begins at a copy, of any branch; output and muted as for `open`."""
        copy = self._copies[entry]
        if muted:
            self.outputs.recorder.mute()
        return self._begin_with(lambda: self._recalled(copy), output)

    def split(self, beside: Sequence["RankState"]) -> Together:
        """Begins at a copy of another state, with its diagnostics of the last step."""
        (other,) = beside
        return self._begin_with(lambda: self._recalled(other._copy(keep_last_step=True)), "")

    def _copy(self, keep_last_step: bool = False) -> StateCopy:
        recorded = {name: values.copy() for name, values in self.outputs.recorder.state().items()}
        return StateCopy(self.model.remember(keep_last_step), recorded, self.outputs.writer.records)

    def _recalled(self, copy: StateCopy) -> Begun:
        self.model.recall(copy.model, self.share, self.reach)
        self._open = True
        return copy.records, {name: values.copy() for name, values in copy.recorded.items()}

    def discard(self, entries: list[int]) -> Together:
        """Frees copies."""
        for entry in entries:
            del self._copies[entry]
        return nothing

    def begin(self, values: Mapping[str, float]) -> Together:
        """Makes the initial state again, as a run file with these parameters and states gives it. An error is raised on all ranks."""
        with agreed(self.world):
            self._initialise("", values)
        return nothing

    def _initialise(self, checkpoint: str, others: Mapping[str, float] | None = None) -> Begun:
        """Gives the model its state, with `others` in place of numbers of the run file; returns what `_begin_with` takes."""
        plan = self.plan
        records: Mapping[str, int] | None = None
        groups: dict[str, dict[str, Any]] = {
            "state": {name: self.gatherer.own(values) for name, values in plan.initial.items()},
            "parameter": {name: self.gatherer.own(values) for name, values in plan.chosen.values.items()},
            "recorder": {},
        }
        for name, value in (others or {}).items():
            groups["parameter" if plan.variables[name].role is Role.PARAMETER else "state"][name] = value
        if checkpoint:
            manifest, arrays = load_checkpoint(Path(checkpoint), self.deal, self.world, self.sites.writing)
            groups, records = {group: {} for group in groups}, manifest["records"]
            for full, values in arrays.items():
                group, _, name = full.partition("/")
                groups[group][name] = values
        state = {name: self.gatherer.unpacked(values) for name, values in groups["state"].items()}
        self.model.initialise(self.share, groups["parameter"], state, plan.chosen.options, self.reach)
        self._open = True
        return records, groups["recorder"]

    def recut(self, bounds: list[int]) -> Together:
        """Takes another share: rank r gets the cells from bounds[r] to bounds[r + 1]. The state must hold the weather."""
        self.outputs.close()
        self._take(self.plan.decomposed(self.world.size, bounds, self.sites.writing))
        if self.reader and not isinstance(self.reader, FieldReader):
            self.reader.recut(self.deal.cells, self.world.rank)
        return nothing

    def tell_busy(self) -> Together:
        """On rank 0 the CPU time [s] that each rank has computed so far."""
        mine = np.array([self.model.busy])
        return lambda: [float(part[0]) for part in self.world.gather(mine) or ()]

    def step(self, start: int, stop: int, keep_last_step: bool, beside: Sequence["RankState"] = ()) -> Together:
        """Computes the steps `start` .. `stop` - 1. beside: other branches, which do the same steps.

        keep_last_step: keep what diagnostics of the last step need. After an error each branch may stand anywhere between.
        """
        self._beside = beside
        if keep_last_step:
            self.model.expect_looks()
        try:
            self._advance(start, stop)
        except SteppeError as error:
            if isinstance(error, ModelError):  # in a step it is no mistake that was found before the run
                error = Failure(f"{error} Results up to the last checkpoint are safe.")
            if self.model.needs.neighbours and self.world.size > 1:
                self.world.abort(str(error), error.exit_code)  # neighbours wait for halos that this rank does not send
            raise error
        self.outputs.recorder.spare_at_most(1 + len(beside))
        for each in (self, *beside):
            each.outputs.writer.check()

        def together() -> None:
            self._beside = ()  # these may be closed next
            for each in (self, *beside):
                each.outputs.exchange()

        return together

    def goes_back(self, start: int, stop: int) -> bool:
        """True if failed steps leave the state as it was: the model undoes them all, and no event lies between them."""
        return self.model.undoes and self.outputs.recorder.done <= start and not any(start < each.step < stop for each in self.plan.actions)

    def export(self, name: str, cells: Array | None = None) -> Together:
        """A variable at the last step, on rank 0: of all cells in packed order, or of some packed cells in their order."""
        values = self.exported(name)
        mine = values if cells is None else values[..., self.gatherer.positions(cells)[1]]
        return lambda: self.gatherer.gathered(mine, cells)

    def reduce(self, query: MapQuery, cells: Array | None) -> Together:
        """On rank 0 a map of a variable at the last step with fewer pixels than cells; the ranks reduce it."""
        cut = cut_of(query, self.plan.grid, cells, self.plan.variables[query.name].classes)
        here, index = self.gatherer.chosen(cut.cells)
        chosen = self.exported(query.name)[index]
        return lambda: cut.reduced(chosen, here, self.world)

    def frames(self, query: MapQuery, bits: int, span: list[object] | None, beside: Sequence["RankState"] = ()) -> Together:
        """On rank 0 the levels of a frame of this branch and of others beside it, see `begin_frames`."""
        return begin_frames((self, *beside), query, bits, span)

    def evaluate(self, expressions: list[str]) -> Together:
        """On all ranks, for each expression: True if it holds at the last step, and the reason why it has no value, or ""."""
        trees = [parse(text, self.plan.variables) for text in expressions]
        fields = {name: self.exported(name) for name in sorted(set().union(*map(names_of, trees)))}
        evaluation = Evaluation(fields, self.plan.grid.cell_area[np.asarray(self.deal.mine)], self.world)
        return lambda: [evaluation.answer(tree) for tree in trees]

    def set(self, name: str, value: float | Array, cells: Array | None, operation: str = "set") -> Together:
        """Sets, scales or adds to a state, a parameter or an event input, everywhere or in some packed cells.

        Returns the sums over these cells before and after.
        """
        return self._setting.set(name, value, cells, operation)

    def digest(self) -> Together:
        """A number that is equal for equal bits of state and parameters, on any number of ranks."""
        mine = digest(MadeArrays(self._makers()), self.deal.mine, self.world.rank == 0)
        return lambda: int(self.world.reduce(np.array([mine], np.int64), "sum")[0])

    def array_counts(self) -> Together:
        """Numbers of the global arrays of all models of the run; see `ModelArrays.counts`."""
        return self.arrays.counts

    def keep(self, aside: str) -> Together:
        """Begins a checkpoint made of copies; `kept` grows when the tiles of this rank are durable."""
        self.outputs.writer.check()
        reductions = {f"recorder/{name}": partial(np.asarray, values) for name, values in self.outputs.recorder.state().items()}
        self._draft.copy(MadeArrays(self._makers() | reductions), self.deal)

        def together() -> None:
            self._draft.exchange(self.world)
            self.outputs.writer.commit_behind(lambda records: self._write(Path(aside)))

        return together

    def wait(self) -> Together:
        """Waits until all writes that were begun are durable."""
        self.outputs.writer.wait()
        return nothing

    def collect(self) -> Together:
        """On rank 0 the hashes of all tiles of the checkpoint that is durable, by tile."""
        mine = b"".join(tile.to_bytes(8, "little", signed=True) + digest for tile, digest in self._digests.items())

        def together() -> dict[int, bytes]:
            found: dict[int, bytes] = {}
            for part in self.world.gather(np.frombuffer(mine, np.uint8)) or ():
                entries = part.reshape(-1, 24)
                found |= {int.from_bytes(entry[:8].tobytes(), "little", signed=True): entry[8:].tobytes() for entry in entries}
            return found

        return together

    def tell_status(self) -> Together:
        """On rank 0 the first bad cell of all ranks, as a packed cell, with the number of bad cells."""
        return first_bad(self.model.status(), self.deal, self.world)

    def watch(self) -> Together:
        """Begins a timeline of the threads of this rank."""

        def together() -> None:
            self.world.barrier()
            timeline.start()

        return together

    def tell_timeline(self) -> Together:
        """Ends the timeline; returns the spans of all ranks on rank 0."""
        mine = timeline.packed(timeline.stop())
        return lambda: [timeline.unpacked(part) for part in self.world.gather(mine) or ()]

    def close(self) -> Together:
        """Ends reading and writing; states without a checkpoint are lost."""
        self.outputs.close()
        if self.reader and not self._shares:
            self.reader.close()
        return nothing

    # ---- its cells ------------------------------------------------------------------------------------------------------------------
    def exported(self, name: str) -> Array:
        """A variable at the last step, in the order of this rank's packed cells."""
        if name in self.plan.inputs:
            variable, values = self.plan.inputs[name]
            return np.broadcast_to(values, self.plan.grid.n_cells)[self.deal.mine].astype(variable.dtype)
        with authored(f"`export` of model {self.model.name}"):
            return self.gatherer.packed(self.model.export(name))

    # ---- questions of other classes -------------------------------------------------------------------------------------------------
    def undo(self) -> None:
        """Undoes this rank's half of an order in which another rank failed."""
        self._setting.undo()

    @property
    def bad(self) -> bool:
        """True if a cell of this branch, or of one beside it, is bad."""
        return any(each._open and bool(each.model.status().count) for each in (self, *self._beside))

    @property
    def contents(self) -> Contents:
        """The contents of the checkpoint that was begun last."""
        return self._draft.contents

    # ---- inside ---------------------------------------------------------------------------------------------------------------------
    def _advance(self, start: int, stop: int) -> None:
        """Computes steps, with the changes that the run file orders before some of them."""
        at, states = start, (self, *self._beside)
        reader, clock, recorders = cast(Inputs, self.reader), self.plan.clock, [each.outputs.recorder for each in states]
        while at < stop:
            for action in self.plan.actions:
                if action.step != at:
                    continue
                index = None if action.cells is None else self.gatherer.positions(action.cells)[1]
                for each in states:
                    action.apply(each.model, index)
            until = min((each.step for each in self.plan.actions if at < each.step < stop), default=stop)
            if len(states) > 1:
                self.model.advance_together([each.model for each in states[1:]], range(at, until), reader, clock, recorders)
            else:
                self.model.advance(range(at, until), reader, clock, recorders[0])
            at = until

    def _makers(self) -> dict[str, Callable[[], Array]]:
        """Of state and parameters, in packed order."""
        groups = {"state": self.model.state, "parameter": self.model.parameters}
        return {f"{group}/{name}": partial(self.gatherer.packed, v) for group, values in groups.items() for name, v in values.items()}

    def _at(self, steps: range) -> None:
        self._where.step = steps.start

    def _write(self, aside: Path) -> None:
        self._digests = self._draft.write(aside)
        self.kept += 1
