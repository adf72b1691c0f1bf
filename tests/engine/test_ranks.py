"""A run on many ranks: the same bytes for any number of them, however it is stopped, continued, looked at and changed."""

import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.image as plt_image
import numpy as np
import pytest

import steppe
from steppe import timeline
from steppe.comm import World
from steppe.costs import SpreadFigures, measured_cost
from steppe.engine import Plan, Ranks, Simulation, read_run_file
from steppe.engine.rank_state import RankState
from steppe.errors import BadCellError, DamagedError, Failure, ForcingError, GridError, ModelError, SteppeError
from steppe.io import ForcingReader, Progress, read_costs
from steppe.io.output import array
from tests.engine.sessions import with_ranks
from tests.engine.test_simulation import digest
from tests.scenario import copied

RANKS = (1, 2, 3, 4, 7)


def on_ranks(n: int, run_file: Path, work: Callable[[Simulation], Any], **changes: str) -> Any:
    """What `work` makes of the run on rank 0 while the others serve its orders."""

    def simulated(plan: Plan, all_ranks: Ranks) -> Any:
        with Simulation(plan, ranks=all_ranks) as simulation:
            return work(simulation)

    return with_ranks(n, run_file, simulated, **changes)


@pytest.fixture(scope="module")
def uninterrupted(made_wide_scenario, tmp_path_factory):
    """The digest of the scenario run in one go by one rank."""
    run_file = copied(made_wide_scenario, tmp_path_factory.mktemp("whole"))
    return digest(steppe.run(run_file))


# each number of ranks, on one thread or two
@pytest.mark.parametrize(("ranks", "threads"), [(1, "2"), (2, "1"), (3, "2"), (4, "1"), (7, "2")])
def test_ranks_do_not_change_a_byte(wide_scenario, uninterrupted, ranks, threads):
    on_ranks(ranks, wide_scenario, lambda simulation: simulation.run(), engine__threads=threads)
    assert digest(wide_scenario.parent / "out") == uninterrupted


# each number of ranks goes on, each with what fewer wrote or more, not with each number
@pytest.mark.parametrize(("first", "then"), [(7, 1), (1, 2), (2, 3), (7, 4), (1, 7), (2, 1), (7, 7)])
def test_a_checkpoint_of_any_number_of_ranks_is_continued_by_any_other(wide_scenario, uninterrupted, first, then):
    def begin(simulation: Simulation) -> None:
        simulation.step(137)
        simulation.checkpoint()

    on_ranks(first, wide_scenario, begin)
    on_ranks(then, wide_scenario, lambda simulation: simulation.run())
    assert digest(wide_scenario.parent / "out") == uninterrupted


@pytest.mark.parametrize("ranks", [1, 3])
def test_many_checkpoints_and_no_thread_for_writing_are_the_same_run(wide_scenario, uninterrupted, ranks):
    on_ranks(ranks, wide_scenario, lambda simulation: simulation.run(), engine__checkpoint='"20 days"', engine__write_behind="false")
    assert digest(wide_scenario.parent / "out") == uninterrupted


# each way to write with two numbers of ranks, not with each
@pytest.mark.parametrize(
    ("writers", "ranks"), [("gather", 1), ("gather", 7), ("aggregate:2", 3), ("aggregate:2", 7), ("aggregate:9", 1), ("aggregate:9", 3)]
)
def test_whoever_writes_the_bytes_are_the_same(wide_scenario, uninterrupted, ranks, writers):
    def begin(simulation: Simulation) -> None:
        simulation.step(137)
        simulation.checkpoint()

    on_ranks(ranks, wide_scenario, begin, engine__writers=f'"{writers}"')
    on_ranks(4, wide_scenario, lambda simulation: simulation.run())
    assert digest(wide_scenario.parent / "out") == uninterrupted


@pytest.mark.parametrize(("writers", "count"), [("private", 3), ("aggregate:2", 2), ("gather", 1)])
def test_as_many_ranks_write_as_are_asked_for(wide_scenario, monkeypatch, writers, count):
    writing: Counter[str] = Counter()
    write = array.write_shard

    def noted(*arguments: Any, **more: Any) -> Path:
        writing[threading.current_thread().name] += 1
        return write(*arguments, **more)

    monkeypatch.setattr(array, "write_shard", noted)
    on_ranks(3, wide_scenario, lambda simulation: simulation.run(), engine__writers=f'"{writers}"', engine__write_behind="false")
    assert len(writing) == count, writing


@pytest.mark.parametrize(("spread", "seed"), [("own", 1), ("node", 2), ("readers:1", 3), ("readers:2", 4)])
def test_shares_cut_anew_at_any_moment_are_the_same_run(wide_scenario, uninterrupted, spread, seed):
    chance = random.Random(seed)

    def work(simulation: Simulation) -> None:
        while not simulation.finished:
            simulation.step(chance.randint(1, 150))
            cuts = sorted(chance.choices(range(simulation.grid.n_cells + 1), k=2))
            simulation.recut([0, *cuts, simulation.grid.n_cells])
        simulation.checkpoint()

    on_ranks(3, wide_scenario, work, forcing__spread=f'"{spread}"')
    assert digest(wide_scenario.parent / "out") == uninterrupted


def test_uneven_ranks_are_given_other_shares(wide_scenario, uninterrupted, monkeypatch):
    """As the clock would tell when the last share costs six times as much as the first."""
    monkeypatch.setattr(RankState, "tell_busy", lambda part: lambda: [factor * part.kept for factor in (100.0, 200.0, 600.0)])

    def work(simulation: Simulation) -> list[int]:
        simulation.run()
        return [len(cells) for cells in simulation.ranks.state(0).deal.cells]

    sizes = on_ranks(3, wide_scenario, work, engine__checkpoint='"10 days"')
    assert sizes[0] > sizes[1] > sizes[2] > 0
    assert digest(wide_scenario.parent / "out") == uninterrupted


def test_the_next_session_begins_with_the_shares_that_an_earlier_one_found(wide_scenario, uninterrupted, monkeypatch):
    monkeypatch.setattr(RankState, "tell_busy", lambda part: lambda: [factor * part.kept for factor in (100.0, 200.0, 600.0)])

    def shares(simulation: Simulation) -> list[int]:
        return [len(cells) for cells in simulation.ranks.state(0).deal.cells]

    on_ranks(3, wide_scenario, lambda simulation: simulation.run("1990-05-30"), engine__checkpoint='"10 days"')
    first, second, third = on_ranks(3, wide_scenario, shares)
    assert first > second > third > 0
    few, many = on_ranks(2, wide_scenario, shares)
    assert few > many
    costs = wide_scenario.parent / "out" / "costs.json"
    costs.write_bytes(costs.read_bytes().replace(b"1", b"2"))  # no result depends on it
    sizes = on_ranks(3, wide_scenario, shares)
    assert max(sizes) - min(sizes) <= 1
    costs.unlink()
    on_ranks(3, wide_scenario, lambda simulation: simulation.run())
    assert digest(wide_scenario.parent / "out") == uninterrupted


def test_more_ranks_than_cells_of_a_tile_and_idle_ranks(scenario):
    alone = digest(on_ranks(1, scenario, lambda simulation: (simulation.run(), simulation.folder.path)[1]))
    on_ranks(5, scenario, lambda simulation: simulation.run(), output__path='"many"')
    assert {name: found for name, found in digest(scenario.parent / "many").items() if name != "output.zarr/zarr.json"} == {
        name: found for name, found in alone.items() if name != "output.zarr/zarr.json"
    }


def test_looks_and_changes_are_the_same_for_any_number_of_ranks(wide_scenario):
    def work(simulation: Simulation) -> list[Any]:
        simulation.step(30)
        found = [simulation.get(name) for name in ("water", "runoff", "rain", "capacity", "bad_step")]
        found.append(simulation.set("capacity", 80.0, {"box": [144.0, -22.0, 145.0, -20.0]}))
        found.append(simulation.set("water", simulation["water"] / 2))
        with pytest.raises(ModelError, match="must be a number"):
            simulation.set("water", -1.0)
        cells = simulation.grid.n_cells
        with pytest.raises(ModelError, match="must be a number"):
            simulation.set("water", np.where(np.arange(cells) == cells - 1, -1.0, 5.0))  # wrong in the last rank alone
        simulation.step(30)
        return [*found, simulation.get("water"), simulation["runoff"].values]

    expected = on_ranks(1, wide_scenario, work, output__path='"1"')
    for ranks in RANKS[1:]:
        for mine, alone in zip(on_ranks(ranks, wide_scenario, work, output__path=f'"{ranks}"'), expected, strict=True):
            assert type(mine) is type(alone)
            np.testing.assert_array_equal(mine, alone)


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_shard_is_written_once_and_every_commit_by_one_file(wide_scenario, monkeypatch, ranks):
    shards: Counter[Path] = Counter()
    commits: Counter[str] = Counter()
    write_shard, write_progress = array.write_shard, Progress.write

    def counted_shard(*arguments: Any, **options: Any) -> str:
        path = write_shard(*arguments, **options)
        shards[Path(path)] += 1
        return path

    def counted_progress(progress: Progress, folder: Path) -> None:
        commits[progress.checkpoint] += 1
        write_progress(progress, folder)

    monkeypatch.setattr(array, "write_shard", counted_shard)
    monkeypatch.setattr(Progress, "write", counted_progress)
    on_ranks(ranks, wide_scenario, lambda simulation: simulation.run(), engine__checkpoint='"none"')
    stored = {path for path in (wide_scenario.parent / "out" / "output.zarr").glob("**/c/*/*") if path.is_file()}
    written = {path for path in shards if "time" not in path.parts}
    assert {path for path in stored if path in written} == written
    assert set(shards.values()) == {1}
    assert len(written) == 2 * 2 * 3 + 2 * 2  # of two monthly maps two rows of shards in three tiles, of two daily series two in one
    assert commits == {"": 1, "0000000420": 1}  # begun, and ended


def test_a_timeline_tells_what_every_rank_did(wide_scenario):
    def work(simulation: Simulation) -> list[timeline.Spans]:
        simulation.watch()
        simulation.run()
        return simulation.timeline()

    plan = Plan.of(read_run_file(wide_scenario))
    with Simulation(plan) as simulation:  # ranks as threads would share one recording
        (mine,) = work(simulation)
    kinds = timeline.seconds(mine)
    assert all(kinds[kind] > 0.0 for kind in ("compute", "read", "decode", "write", "wait"))
    assert {"MainThread", "output_0"} <= set(mine)


def test_an_image_is_made_by_the_ranks_and_is_the_same_for_any_number_of_them(wide_scenario):
    def work(simulation: Simulation) -> list[bytes]:
        simulation.step(30)
        with pytest.raises(GridError, match="1 to 27 pixels wide, 28 were asked for"):
            simulation.image("water", 28)
        images = [simulation.image("water"), simulation.image("water", 5, 0.0, 120.0), simulation.image("capacity")]
        shown = plt_image.imread(BytesIO(images[0]))
        assert shown.shape == (26, 27, 4)
        np.testing.assert_array_equal(shown[..., 3] > 0, simulation.grid.active)
        water = simulation["water"].values
        dark, bright = (shown[np.unravel_index(at, water.shape)][:3].sum() for at in (np.nanargmax(water), np.nanargmin(water)))
        assert dark != bright
        return images

    alone = on_ranks(1, wide_scenario, work, output__path='"1"')
    for ranks in (2, 3, 7):
        assert on_ranks(ranks, wide_scenario, work, output__path=f'"{ranks}"') == alone


def test_a_branch_of_ranks_goes_its_own_way(wide_scenario, uninterrupted):
    def work(simulation: Simulation) -> None:
        simulation.step(200)
        with simulation.branch("what-if") as branch:
            branch.set("capacity", 10.0)
            branch.run()
        simulation.run()

    on_ranks(3, wide_scenario, work)
    assert digest(wide_scenario.parent / "out") == uninterrupted
    assert digest(wide_scenario.parent / "out" / "branches" / "what-if") != uninterrupted


def test_damaged_weather_of_one_rank_ends_all_with_its_error(wide_scenario):
    shards = sorted((wide_scenario.parent / "weather.zarr" / "rain" / "c").rglob("[0-9]*"))
    file = [path for path in shards if path.is_file()][-1]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)

    def failure(ranks: int) -> str:
        with pytest.raises(SteppeError) as caught:
            on_ranks(ranks, wide_scenario, lambda simulation: simulation.run(), output__path=f'"out{ranks}"')
        assert isinstance(caught.value, DamagedError)
        return str(caught.value)

    assert failure(1) == failure(3)


def test_ranks_whose_step_failed_on_one_of_them_go_on_from_a_checkpoint_alone(wide_scenario, uninterrupted):
    """The others did the step: in memory they stand somewhere else."""
    shards = {path: path.read_bytes() for path in (wide_scenario.parent / "weather.zarr" / "rain" / "c").rglob("[0-9]*") if path.is_file()}

    def work(simulation: Simulation) -> None:
        last = max(shards)
        last.write_bytes(shards[last][:64] + b"damage" + shards[last][70:])
        with pytest.raises(DamagedError):
            simulation.step(10)
        last.write_bytes(shards[last])
        with pytest.raises(Failure, match=r"A step failed, .* Open the run again, or go back with `rewind`"):
            simulation.step(10)

    on_ranks(3, wide_scenario, work, forcing__spread='"own"')
    on_ranks(3, wide_scenario, Simulation.run, forcing__spread='"own"')
    assert digest(wide_scenario.parent / "out") == uninterrupted


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_bad_cell_of_any_rank_is_named_and_the_run_goes_on_from_before(wide_scenario, uninterrupted, monkeypatch, ranks):
    cell = 600
    step = RankState.step

    def spoilt(part: RankState, start: int, **rest: Any) -> Any:
        if start == 10 and cell in part.deal.mine:
            part.model.state["water"][cell - part.deal.mine.start] = np.nan
        return step(part, start, **rest)

    def work(simulation: Simulation) -> None:
        simulation.step(10)
        simulation.checkpoint()
        with pytest.raises(BadCellError, match=r'On 1990-01-20 in cell 600 \(longitude .*, latitude .*\) "water" is nan'):
            simulation.step(10)

    with monkeypatch.context() as patch:
        patch.setattr(RankState, "step", spoilt)
        on_ranks(ranks, wide_scenario, work)
    on_ranks(2, wide_scenario, lambda simulation: simulation.run())
    assert digest(wide_scenario.parent / "out") == uninterrupted


def test_a_rank_that_cannot_see_the_weather_ends_all_with_its_error_before_anything_is_written(wide_scenario, monkeypatch):
    of = Plan.of

    def blind(*arguments: Any, **options: Any) -> Plan:
        if threading.current_thread().name == "rank 2":
            raise ForcingError('"weather.zarr" cannot be seen from here.')
        return of(*arguments, **options)

    monkeypatch.setattr(Plan, "of", blind)
    with pytest.raises(ForcingError, match="cannot be seen from here"):
        on_ranks(3, wide_scenario, lambda simulation: simulation.run())
    assert not (wide_scenario.parent / "out").exists()


def test_a_mistake_is_told_once_and_nothing_is_written(wide_scenario):
    with pytest.raises(ModelError, match="capacity"):
        on_ranks(3, wide_scenario, lambda simulation: simulation.run(), parameters__capacity="-5.0")
    assert not (wide_scenario.parent / "out").exists()


def test_who_reads_weather_for_whom_is_chosen_by_the_cost_that_the_model_declares_or_that_was_measured(wide_scenario, monkeypatch):
    given: list[float] = []

    def measured(world: World, reader: ForcingReader, compute: float) -> SpreadFigures:
        given.append(compute)
        return SpreadFigures(compute)

    monkeypatch.setattr("steppe.costs.spread_choice.measure_spread", measured)
    model = wide_scenario.parent / "dear.py"
    model.write_text((wide_scenario.parent / "bucket.py").read_text() + "\nCOST = 2e-3\n")
    on_ranks(2, wide_scenario, lambda simulation: simulation.step(1))
    on_ranks(2, wide_scenario, lambda simulation: simulation.step(1), model=f'"{model}"', output__path=f'"{model.parent / "other"}"')
    assert given == [SpreadFigures().compute] * 2 + [2e-3] * 2
    given.clear()
    monkeypatch.setattr(RankState, "tell_busy", lambda state: lambda: [5e-9 * state.plan.grid.n_cells / 2 * state.kept for _ in range(2)])
    on_ranks(2, wide_scenario, lambda simulation: simulation.run("1990-05-30"), engine__checkpoint='"10 days"')
    given.clear()
    kept = measured_cost(read_costs(wide_scenario.parent / "out"), steppe.open(wide_scenario.parent / "out").sizes["cell"])
    on_ranks(2, wide_scenario, lambda simulation: simulation.step(1))
    assert given == [pytest.approx(kept, abs=1e-12)] * 2
    assert kept == pytest.approx(5e-10, rel=0.5), "about ten steps lie between two checkpoints"


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_run_file_of_before_that_says_broadcast_runs_as_auto_and_says_so(wide_scenario, uninterrupted, ranks):
    told: list[str] = []

    def work(plan: Plan, all_ranks: Ranks) -> None:
        with Simulation(plan, ranks=all_ranks, on_event=lambda event: told.append(event.text)) as simulation:
            simulation.run()

    with_ranks(ranks, wide_scenario, work, forcing__spread='"broadcast"')
    assert 'There is no spread "broadcast" any more: [forcing] spread is taken as "auto".' in told
    assert any(re.match(r"Weather is read by spread \S+; predicted", text) for text in told) == (ranks > 1)
    assert digest(wide_scenario.parent / "out") == uninterrupted
