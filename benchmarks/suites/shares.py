"""How evenly shares of cells are cut by what cells cost when they are run, and what a share costs that is no multiple of a vector.

Two things that must not be mixed: imbalance, the busiest share over the mean in measured cost of cells, and quantum loss, the cells that
the loop computes over those that there are, because it takes two vectors of them a turn.
"""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, measured, pinned, thread_seconds
from benchmarks.suites.pasture import Case, Kernel, make_case
from benchmarks.suites.pasture.case import CLAY, FORCING, USE
from steppe.costs import CostLattice, imbalance
from steppe.engine.recorder import IntervalRecorder
from steppe.grid import Partition, builtin_grid
from steppe.kernels import BLOCK
from steppe.kernels.cell_kernel import MISSING, turn
from steppe.models import CellModel, Packed, pasture

FEW = range(2, 65)  # ranks of Queensland
MANY = (*(2**k for k in range(1, 13)), 63, 1000, 3480)  # of Australia
SIZES = (16, 64, 68, 80, 237, 300, 1000)  # cells of a share
DAYS, LARGE = 64, 16_384


def figures(quick: bool) -> list[Figure]:
    """Imbalance with measured costs, quantum loss, cost of small shares."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with pinned():
        return [
            *_cuts("Queensland", FEW, (2, 4, 7, 16, 32, 64), DAYS, rounds),
            *_cuts("Australia", MANY, (64, 256, 1024, 4096), 8 if quick else 16, rounds),
            *_sizes(rounds),
            *_pieces(rounds),
        ]


def _cuts(region: str, many: Sequence[int], listed: Sequence[int], days: int, rounds: int) -> Iterator[Figure]:
    n_cells = builtin_grid(region.lower()).n_cells
    cost = _costs(n_cells, days, rounds)
    spread = np.quantile(cost, (0.05, 0.5, 0.95)) / 1e3
    yield Figure(f"{region}, cost of a cell and day", spread[1], "ns", note=f"5 % of cells below {spread[0]:.3g}, 5 % over {spread[2]:.3g}")
    cuts = {ranks: Partition.cells(n_cells, ranks, cost) for ranks in many}
    busiest = {ranks: 1.0 + imbalance(found.loads(cost)) for ranks, found in cuts.items()}
    even = {ranks: 1.0 + imbalance(Partition.cells(n_cells, ranks).loads(cost)) for ranks in many}
    for ranks in listed:
        note = f"{even[ranks]:.4f} with as many cells each"
        yield Figure(f"{region}, {ranks:,} ranks: busiest share / mean", busiest[ranks], "x", at_most=1.02, note=note)
    worst = max(many, key=lambda ranks: busiest[ranks])
    name = f"{region}, worst of {len(many)} numbers of ranks to {max(many):,}: busiest share / mean"
    yield Figure(name, busiest[worst], "x", at_most=1.02, note=f"{worst:,} ranks")
    step = turn(np.float32)
    cells = np.diff(cuts[max(many)].bounds)
    loss = -(-cells // step) * step / cells
    note = f"mean {loss.mean():.3f}; shares of {cells.min()} to {cells.max()} cells in turns of {step}"
    yield Figure(f"{region}, {max(many):,} ranks: largest quantum loss of a share", loss.max(), "x", note=note)


def _costs(n_cells: int, days: int, rounds: int) -> NDArray[np.int64]:
    """Picoseconds of each cell and day, measured by blocks. In a tenth of the region weather is missing; cells that stand cost more."""
    case = make_case(n_cells, days)
    case.forcing.rows[:, n_cells // 3 : n_cells // 3 + n_cells // 10 : 97] = MISSING
    kernel = Kernel()
    kernel.prepare(case)
    blocks = Partition((*range(0, n_cells, BLOCK), n_cells))
    times = []
    for _ in range(rounds):
        kernel.reset()
        times.append([kernel.seconds(blocks.owned(k).cells) for k in range(blocks.ranks)])
    lattice = CostLattice(n_cells)
    lattice.feed(blocks, np.median(times, axis=0).tolist(), days)
    return lattice.weights()


def _sizes(rounds: int) -> Iterator[Figure]:
    """The loop itself on shares of a few cells beside a large one; `SIZES` in one array, as a rank has them."""
    case = make_case(LARGE, DAYS)
    kernel = Kernel()
    kernel.prepare(case)

    def share(n: int) -> float:
        """Seconds a cell and day."""
        times = max(1, 2048 // n)
        kernel.reset()
        return sum(kernel.seconds(range(k * n, (k + 1) * n)) for k in range(times)) / (times * n * DAYS)

    samples = alternate({f"{n}": measured(share, n) for n in (*SIZES, LARGE)}, 3 * rounds)
    large = float(np.median(samples.pop(f"{LARGE}")))
    yield Figure(f"a share of {LARGE:,} cells", large * 1e9, "ns a cell-day")
    step = turn(np.float32)
    for name, times in samples.items():
        n, found = int(name), float(np.median(times))
        padded = -(-n // step) * step / n
        note = f"{found / large:.2f} of the large share, {padded:.2f} of that whole turns"
        yield Figure(f"a share of {n} cells", found * 1e9, "ns a cell-day", note=note)


class Held:
    """The forcing of a case as one tile and one piece, for a model."""

    names = FORCING
    in_turns = False

    def __init__(self, case: Case) -> None:
        self._case = case

    def pieces(self, steps: range) -> list[range]:
        return [steps]

    def turn_to(self, piece: range) -> None:
        pass

    def stream(self, cells: range) -> "Held":
        return self

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        yield range(self._case.cells), self._case.forcing


def _pieces(rounds: int) -> Iterator[Figure]:
    """What a whole piece of 64 days takes a model that records three means, beside the loop in it: what Python adds to small shares."""
    plant, soil = (pasture.sets()[kind][name] for kind, name in zip(("plant", "soil"), CLAY, strict=True))
    for cells in (64, 237, 2048):
        case = make_case(cells, DAYS)
        model, recorder, held = CellModel(pasture), IntervalRecorder(cells), Held(case)
        model.initialise(SimpleNamespace(n_cells=cells), {**plant, **soil, **USE}, None, {}, None)
        for name in ("growth", "total_cover", "runoff"):
            recorder.want(name, "mean", np.arange(0, 100 * DAYS, DAYS // 2), lambda first, values: None)

        def piece(model: CellModel = model, held: Held = held, case: Case = case, recorder: IntervalRecorder = recorder) -> None:
            model.advance(range(DAYS), held, case.clock, recorder)

        samples = alternate({"piece": lambda piece=piece: thread_seconds(piece)}, 10 * rounds)["piece"]
        found = float(np.median(samples))
        yield Figure(
            f"a piece of a share of {cells} cells, all of it", found / cells / DAYS * 1e9, "ns a cell-day", note=f"{found * 1e6:.0f} us"
        )
