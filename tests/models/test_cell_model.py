from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from examples import bucket

from steppe.errors import DamagedError, ForcingError, ModelError
from steppe.kernels import CellKernel
from steppe.models import CellModel, Packed
from tests.models import doubling, garden
from tests.models.cells import CLOCK, NOTHING, MemoryInputs, MemoryRecorder, started, weather

CELLS, STEPS = 1003, 30
EVERYTHING = [("upper", "last"), ("green", "max"), ("rain", "sum"), ("runoff", "sum"), ("growth", "min"), ("season", "max")]


def garden_weather(cells: int = CELLS, steps: int = STEPS) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    return {
        "light": np.round(random.uniform(0, 30, (steps, cells)), 1),
        "rain": weather(cells, steps)["rain"],
        "warmth": np.round(random.uniform(-5, 35, (steps, cells)), 1),
    }


def garden_model(cells: int = CELLS, threads: int = 1, dtype: str = "float32", response: str = "curved") -> CellModel:
    model = CellModel(garden, dtype, threads)
    vigour = np.linspace(0.5, 2.0, cells)
    model.initialise(SimpleNamespace(n_cells=cells), {"vigour": vigour}, {"upper": np.linspace(0, 60, cells)}, {"response": response})
    return model


def everything(model: CellModel, recorder: MemoryRecorder) -> dict[str, bytes]:
    """All that a run leaves, as bits."""
    found = {name: values.tobytes() for name, values in model.state.items()}
    found |= {name: model.export(name).tobytes() for name in ("runoff", "growth", "season", "rain", "room", "vigour")}
    return found | {f"{operation} {name}": values.tobytes() for (name, operation), values in recorder.values.items()}


def run(
    threads: int = 1, tile: int | None = None, piece: int | None = None, splits: tuple[int, ...] = (), **inputs: object
) -> dict[str, bytes]:
    model = garden_model(threads=threads)
    recorder = MemoryRecorder(EVERYTHING, STEPS, CELLS, 10)
    held = MemoryInputs(garden_weather(), tile, piece, **inputs)
    for low, high in zip((0, *splits), (*splits, STEPS), strict=True):
        model.advance(range(low, high), held, CLOCK, recorder)
    return everything(model, recorder)


@pytest.fixture(scope="module")
def once() -> dict[str, bytes]:
    return run()


@pytest.mark.parametrize(
    "other",
    [
        {"threads": 3},
        {"tile": 100},
        {"tile": 256, "threads": 4},
        {"piece": 7},
        {"splits": tuple(range(1, STEPS))},
        {"threads": 2, "tile": 17, "piece": 4, "splits": (3, 20)},
    ],
    ids=str,
)
def test_a_run_has_the_same_bits_for_any_threads_tiles_pieces_and_splits(other: dict, once: dict[str, bytes]) -> None:
    assert run(**other) == once


def test_cells_have_the_same_bits_in_whatever_share_they_lie(once: dict[str, bytes]) -> None:
    found = []
    for cells in (slice(0, 17), slice(17, 640), slice(640, CELLS)):
        count = len(range(*cells.indices(CELLS)))
        model = CellModel(garden)
        state = {"upper": np.linspace(0, 60, CELLS)[cells]}
        model.initialise(SimpleNamespace(n_cells=count), {"vigour": np.linspace(0.5, 2.0, CELLS)[cells]}, state, {"response": "curved"})
        part = {name: values[:, cells] for name, values in garden_weather().items()}
        model.advance(range(STEPS), MemoryInputs(part), CLOCK, NOTHING)
        found.append(model.state["green"])
    assert np.concatenate(found).tobytes() == once["green"]


def test_a_share_without_cells_goes_along() -> None:
    model = garden_model(0, threads=2)
    recorder = MemoryRecorder(EVERYTHING, STEPS, 0, 10)
    model.advance(range(STEPS), MemoryInputs(garden_weather(0), tile=256), CLOCK, recorder)
    assert recorder.finished == [range(STEPS)]
    assert not any(everything(model, recorder).values())
    assert model.status().count == 0
    assert model.busy == 0.0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_share_is_busy_for_the_processor_time_of_its_threads(threads: int) -> None:
    model, inputs = garden_model(threads=threads), MemoryInputs(garden_weather(), tile=100, piece=7)
    model.advance(range(1), inputs, CLOCK, NOTHING)  # loads the kernel
    before, begin = model.busy, process_time()
    for day in range(1, STEPS):
        model.advance(range(day, day + 1), inputs, CLOCK, NOTHING)
    assert 0.0 < before < model.busy
    assert model.busy - before <= process_time() - begin


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_step_called_from_python_has_the_bits_of_the_kernel(dtype: str) -> None:
    real = np.dtype(dtype).type
    cells, steps = 12, 9
    values = garden_weather(cells, steps)
    model = garden_model(cells, dtype=dtype)
    model.advance(range(steps), MemoryInputs(values, dtype=dtype), CLOCK, NOTHING)
    fields = CLOCK.fields(range(steps))
    for cell in range(cells):
        p = garden.Parameters(real(100), real(1.5), real(np.linspace(0.5, 2.0, cells)[cell]))
        d = garden.Derived(*(real(v) for v in garden.derive(garden.Parameters(*map(np.float64, (100, 1.5, 1))), garden.Options(1, 1))))
        s = garden.State(real(np.linspace(0, 60, cells)[cell]), real(0.5 * 0.45 * 100), real(300), real(0))
        for day in range(steps):
            f = garden.Forcing(*(real(values[name][day, cell].astype(dtype)) for name in ("rain", "warmth", "light")), real(0))
            t = garden.Today(real(fields.day_of_year[day]), real(fields.year[day]))
            s, diagnostics = garden.step(s, f, p, d, t, garden.Options(1, 1))
        for name, value in {**s._asdict(), **diagnostics._asdict()}.items():
            assert real(value) == model.export(name)[cell], name
        assert type(s.green) is real


def test_integer_and_weekly_rows_give_the_bits_of_their_unpacked_values() -> None:
    values = garden_weather()
    packed = MemoryInputs(values, tile=300, scale=0.1, weekly=("warmth", "light"))
    unpacked = {name: np.stack([_value(packed, k, day) for day in range(STEPS)]) for k, name in enumerate(values)}
    bits = []
    for inputs in (packed, MemoryInputs(unpacked), MemoryInputs(unpacked, dtype="float64")):
        model = garden_model()
        model.advance(range(STEPS), inputs, CLOCK, NOTHING)
        bits.append([*(v.tobytes() for v in model.state.values()), model.export("light").tobytes(), model.export("growth").tobytes()])
    assert bits[0] == bits[1] == bits[2]


def _value(inputs: MemoryInputs, k: int, day: int) -> np.ndarray:
    raw = np.concatenate([inputs.slab(range(day, day + 1), tile).rows for tile in range(len(inputs.tiles))], axis=1)
    return raw[inputs.slab(range(day, day + 1), 0).row_of[k, 0]].astype(np.float32) * np.float32(0.1) + np.float32(0)


class DamagedInputs(MemoryInputs):
    """Inputs whose third tile cannot be read from step 20 on."""

    def slab(self, steps: range, tile: int) -> Packed:
        if tile == 2 and steps.stop > 20:
            raise DamagedError("the third tile")
        return super().slab(steps, tile)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_piece_whose_forcing_cannot_be_read_is_computed_for_no_cell(threads: int) -> None:
    model, same = garden_model(threads=threads), garden_model(threads=threads)
    with pytest.raises(DamagedError, match="the third tile"):
        model.advance(range(STEPS), DamagedInputs(garden_weather(), tile=300, piece=10), CLOCK, NOTHING)
    same.advance(range(20), MemoryInputs(garden_weather()), CLOCK, NOTHING)
    assert {name: values.tobytes() for name, values in model.state.items()} == {
        name: values.tobytes() for name, values in same.state.items()
    }
    with pytest.raises(ModelError, match="belongs to a step"):
        model.export("growth")
    model.advance(range(20, STEPS), MemoryInputs(garden_weather()), CLOCK, NOTHING)
    same.advance(range(20, STEPS), MemoryInputs(garden_weather()), CLOCK, NOTHING)
    assert model.export("growth").tobytes() == same.export("growth").tobytes()


def test_records_equal_a_reduction_of_a_run_day_by_day() -> None:
    names = [name for name, _ in EVERYTHING]
    wanted = [(name, operation) for name in names for operation in ("sum", "min", "max", "last")]
    recorder = MemoryRecorder(wanted, STEPS, CELLS, 10)
    model = garden_model(threads=2)
    model.advance(range(STEPS), MemoryInputs(garden_weather(), tile=90, piece=8), CLOCK, recorder)
    assert [day for piece in recorder.finished for day in piece] == list(range(STEPS))
    daily: dict[str, list[np.ndarray]] = {name: [] for name in names}
    model = garden_model()
    inputs = MemoryInputs(garden_weather())
    for day in range(STEPS):
        model.advance(range(day, day + 1), inputs, CLOCK, NOTHING)
        for name in names:
            daily[name].append(model.export(name).astype(np.float64))
    for name in names:
        days = np.array(daily[name]).reshape(3, 10, CELLS)
        running = np.zeros((3, CELLS))
        for day in range(10):
            running += days[:, day]
        assert np.array_equal(recorder.values[name, "sum"], running)
        assert np.array_equal(recorder.values[name, "min"], days.min(axis=1))
        assert np.array_equal(recorder.values[name, "max"], days.max(axis=1))
        assert np.array_equal(recorder.values[name, "last"], days[:, -1])


def test_a_run_goes_on_from_its_state_and_parameters_to_the_bit(once: dict[str, bytes]) -> None:
    recorder = MemoryRecorder(EVERYTHING, STEPS, CELLS, 10)
    first, second = garden_model(), CellModel(garden)
    inputs = MemoryInputs(garden_weather())
    first.advance(range(13), inputs, CLOCK, recorder)
    state = {name: values.copy() for name, values in first.state.items()}
    second.initialise(SimpleNamespace(n_cells=CELLS), first.parameters, state, {"response": "curved"})
    with pytest.raises(ModelError, match="none has been made yet"):
        second.export("runoff")
    second.advance(range(13, STEPS), inputs, CLOCK, recorder)
    assert everything(second, recorder) == once


def test_an_option_chooses_the_code_path() -> None:
    found = []
    for response in ("linear", "curved"):
        model = garden_model(20, response=response)
        model.advance(range(5), MemoryInputs(garden_weather(20, 5)), CLOCK, NOTHING)
        found.append(model.state["upper"].tobytes())
    assert found[0] != found[1]
    with pytest.raises(ModelError, match='no option "respons"'):
        CellModel(garden).initialise(SimpleNamespace(n_cells=1), {}, None, {"respons": "linear"})
    with pytest.raises(ModelError, match='"round"'):
        CellModel(garden).initialise(SimpleNamespace(n_cells=1), {}, None, {"response": "round"})


def test_an_event_holds_for_the_next_step_only() -> None:
    values = {name: np.zeros((3, 10)) for name in ("rain", "warmth", "light")}
    model = garden_model(10)
    inputs = MemoryInputs(values)
    increment = model.set("burn", 1, np.array([2, 3]))
    assert (increment.cells, increment.before, increment.after) == (2, 0.0, 2.0)
    model.advance(range(3), inputs, CLOCK, MemoryRecorder([], 3, 10, 1))
    assert np.flatnonzero(model.state["green"] == 0).tolist() == [2, 3]
    assert not model.state["burn"].any()
    recorder = MemoryRecorder([("burn", "max")], 3, 10, 3)
    model.set("burn", 0.5)
    model.advance(range(1), inputs, CLOCK, recorder)
    assert (recorder.values["burn", "max"] == 0.5).all()
    assert (model.export("burn") == 0.5).all()
    model.set("burn", 1)
    held = MemoryInputs({**values, "burn": np.zeros((3, 10))})
    with pytest.raises(ModelError, match="the inputs hold it"):
        model.advance(range(1), held, CLOCK, NOTHING)


def test_an_optional_forcing_of_the_store_is_read() -> None:
    values = {name: np.zeros((2, 10)) for name in ("rain", "warmth", "light", "burn")}
    values["burn"][1, 4] = 1.0
    model = garden_model(10)
    model.advance(range(2), MemoryInputs(values), CLOCK, NOTHING)
    assert np.flatnonzero(model.state["green"] == 0).tolist() == [4]
    assert model.export("burn")[4] == 1.0


def test_a_bad_cell_is_frozen_and_named_and_its_neighbours_keep_their_bits() -> None:
    values = garden_weather(300, 12)
    good = garden_model(300)
    good.advance(range(12), MemoryInputs(values), CLOCK, NOTHING)
    assert good.status().count == 0
    for name, value, low, high in (
        ("rain", np.nan, 0, 300),
        ("warmth", 99.0, -40, 60),
        ("rain", -1.0, 0, 300),
        ("light", np.nan, -np.inf, np.inf),
    ):
        broken = {key: v.copy() for key, v in values.items()}
        broken[name][5, 77] = value
        bad = garden_model(300, threads=2)
        recorder = MemoryRecorder([("runoff", "sum")], 12, 300, 1)
        bad.advance(range(5), MemoryInputs(broken), CLOCK, recorder)
        before = {key: v[77] for key, v in bad.state.items()}
        bad.advance(range(5, 12), MemoryInputs(broken, tile=64, piece=4), CLOCK, recorder)
        status = bad.status()
        assert (status.count, status.cell, status.step, status.variable, status.low, status.high) == (1, 77, 5, name, low, high)
        assert np.array_equal(status.value, value, equal_nan=True)
        others = np.arange(300) != 77
        for key in ("upper", "lower", "green", "age"):
            assert bad.state[key][others].tobytes() == good.state[key][others].tobytes()
            assert bad.state[key][77] == before[key]
        assert np.isnan(bad.export("runoff")[77])
        assert np.array_equal(np.isnan(recorder.values["runoff", "sum"][:, 77]), np.arange(12) >= 5)


@pytest.mark.parametrize(("dtype", "scale"), [("float32", None), ("float64", None), ("int16", 0.1)])
def test_many_bad_cells_stop_where_they_are_and_no_other_cell_knows(dtype: str, scale: float | None) -> None:
    cells, steps = 700, 40
    random = np.random.default_rng(5)
    broken = weather(cells, steps)
    for name, values in (("rain", [np.nan, -0.1, 2000.0, 2000.1]), ("pan", [np.nan, -0.1, 50.0, 50.1])):
        for value in values:
            at = random.integers(0, steps, 60), random.integers(0, cells // 2, 60)  # the other blocks have none
            broken[name][at] = value
    unpacked = {name: np.float32(np.round(v / 0.1) if scale else v) * np.float32(scale or 1) for name, v in broken.items()}
    out = {name: ~((unpacked[name] >= 0) & (unpacked[name] <= high)) for name, high in (("rain", 2000), ("pan", 50))}
    either = out["rain"] | out["pan"]
    first = np.where(either.any(axis=0), either.argmax(axis=0), steps)
    frozen = np.arange(steps)[:, None] >= first
    assert 100 < (first < steps).sum() < cells // 2

    def run(values: dict[str, np.ndarray], **inputs: object) -> tuple[CellModel, dict]:
        model = started(bucket, cells, threads=2)
        recorder = MemoryRecorder([("water", "last"), ("runoff", "last")], steps, cells, 1)
        kind = {"scale": scale} if scale else {"dtype": dtype}
        model.advance(range(steps), MemoryInputs(values, **inputs, **kind), CLOCK, recorder)
        return model, {name: values for (name, _), values in recorder.values.items()}

    replaced = {name: np.where(frozen, 1.0, values) for name, values in broken.items()}
    _, expected = run(replaced)
    before = np.vstack([np.full((1, cells), 50.0), expected["water"]])
    for inputs in ({}, {"tile": 300, "piece": 7}):
        model, found = run(broken, **inputs)
        assert np.array_equal(found["water"], np.where(frozen, before[first, np.arange(cells)], expected["water"]))
        assert np.array_equal(found["runoff"], np.where(frozen, np.nan, expected["runoff"]), equal_nan=True)
        assert np.array_equal(model.state["bad_step"], np.where(first < steps, first, -1))
        rain_first = out["rain"][np.minimum(first, steps - 1), np.arange(cells)]
        assert np.array_equal(model.state["bad_code"], np.where(first == steps, 0, np.where(rain_first, 1, 2)))


def test_optional_forcing_outside_its_limits_makes_a_cell_bad_too() -> None:
    model = started(bucket, 300)
    model.state["irrigation"][[7, 290]] = np.nan, 501.0
    model.advance(range(2), MemoryInputs(weather(300, 2)), CLOCK, NOTHING)
    assert np.flatnonzero(model.state["bad_code"]).tolist() == [7, 290]
    assert set(model.state["bad_code"][[7, 290]]) == {3}
    assert set(model.state["bad_step"][[7, 290]]) == {0}
    assert model.state["water"][[7, 290]].tolist() == [50.0, 50.0]


def test_a_state_that_is_not_finite_freezes_its_cell_also_after_a_restart() -> None:
    factor = np.full((4, 5), 1e20)
    factor[:, 3] = 1.0
    model = started(doubling, 5, state={"y": np.arange(5.0)})
    model.advance(range(4), MemoryInputs({"factor": factor}), CLOCK, NOTHING)
    status = model.status()
    assert (status.count, status.cell, status.step, status.variable, status.value) == (4, 0, 1, "x", np.inf)
    assert model.state["x"].tolist() == [np.float32(1e20)] * 3 + [1.0] + [np.float32(1e20)]
    state = {name: values.copy() for name, values in model.state.items()}
    again = started(doubling, 5, state=state)
    again.advance(range(1), MemoryInputs({"factor": np.ones((1, 5))}), CLOCK, NOTHING)
    assert again.state["y"].tolist() == [1, 2, 3, 8, 5]
    assert (again.status().count, again.status().step, again.status().variable) == (4, 1, "state")


def test_states_are_good_however_large_their_products_and_sums_are() -> None:
    model = started(doubling, 600, state={"x": 2e38, "y": 2e38})
    model.advance(range(4), MemoryInputs({"factor": np.ones((4, 600))}), CLOCK, NOTHING)
    assert model.status().count == 0
    assert set(model.state["x"].tolist()) == {float(np.float32(2e38))}


def test_set_changes_states_and_parameters_and_says_what_it_did() -> None:
    model = garden_model(50)
    increment = model.set("green", 100, np.array([1, 2]))
    assert increment == ("green", 2, 600.0, 200.0)
    assert model.state["green"][[0, 1, 2]].tolist() == [300, 100, 100]
    assert model.set("shape", 2.0).after == 100.0
    assert model.parameters["shape"].shape == ()
    model.set("depth", 200.0, np.array([4]))
    assert model.parameters["depth"][[3, 4]].tolist() == [100, 200]
    assert model.export("room", np.array([3, 4])).tolist() == [45.0, 90.0]
    model.advance(range(3), MemoryInputs(garden_weather(50, 3)), CLOCK, NOTHING)
    assert np.isfinite(model.state["lower"]).all()


def test_a_parameter_set_for_a_region_gives_the_bits_of_one_given_for_each_cell() -> None:
    depth = np.full(50, 100.0)
    depth[[4, 9]] = 200.0
    bits = []
    for given in (False, True):
        model = CellModel(garden)
        model.initialise(SimpleNamespace(n_cells=50), {"depth": depth} if given else {}, {"lower": 10.0}, {})
        if not given:
            model.set("depth", 200.0, np.array([4, 9]))
        model.advance(range(3), MemoryInputs(garden_weather(50, 3)), CLOCK, NOTHING)
        bits.append([*(v.tobytes() for v in model.state.values()), model.export("runoff").tobytes()])
    assert bits[0] == bits[1]


def test_diagnostics_are_computed_that_somebody_asks_for_and_those_of_before_together(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []
    run = CellKernel.run

    def noted(kernel: CellKernel, *arguments: Any) -> None:
        computed.append(len(arguments[-1]))
        run(kernel, *arguments)

    looks = [(), ("growth",), ("growth", "runoff"), ("growth", "runoff"), (), ("runoff", "growth", "runoff")]
    recorder = MemoryRecorder([("growth", "last"), ("runoff", "last")], len(looks), 50, 1)
    model, inputs = garden_model(50), MemoryInputs(garden_weather(50, len(looks)))
    for step, names in enumerate(looks):
        model.advance(range(step, step + 1), inputs, CLOCK, recorder)
        with monkeypatch.context() as patch:
            patch.setattr(CellKernel, "run", noted)
            for name in names:
                assert model.export(name).tobytes() == recorder.values[name, "last"][step].astype(np.float32).tobytes()
    assert computed == [1, 1, 1, 2, 2]  # a second one where it was not asked for before; then both at once


def test_diagnostics_belong_to_the_last_step_whatever_is_set_after_it() -> None:
    model = garden_model(50)
    model.advance(range(3), MemoryInputs(garden_weather(50, 3)), CLOCK, NOTHING)
    before = model.export("growth").tobytes()
    again = garden_model(50)
    again.advance(range(3), MemoryInputs(garden_weather(50, 3)), CLOCK, NOTHING)
    again.set("vigour", 9.0)
    again.set("upper", 1.0)
    assert again.export("growth").tobytes() == before


@pytest.mark.parametrize(
    ("name", "value", "index", "message"),
    [
        ("runof", 1, None, 'no variable "runof". Did you mean "runoff"'),
        ("runoff", 1, None, '"runoff" is diagnostic and cannot be set'),
        ("room", 1, None, "Set depth instead"),
        ("rain", 1, None, '"rain" is forcing and cannot be set'),
        ("bad_code", 0, None, "cannot be set"),
        ("green", -1, None, '"green" is -1 kg ha-1; it must be a number from 0 to 100000'),
        ("depth", np.nan, None, '"depth" is nan mm'),
        ("green", np.ones(3), np.array([1, 2]), "Give one number or 2 of them"),
    ],
)
def test_set_refuses_with_the_reason(name: str, value: object, index: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        garden_model(10).set(name, value, index)


@pytest.mark.parametrize(
    ("parameters", "state", "message"),
    [
        ({"dept": 1}, {}, 'no parameter "dept". Did you mean "depth"'),
        ({"depth": 1}, {}, '"depth" is 1 mm; it must be a number from 10 to 500'),
        ({"depth": [100] * 9 + [1000]}, {}, '"depth" is 1000 mm in cell 9'),
        ({"depth": [100] * 9}, {}, "Give one number or 10 of them"),
        ({}, {"gren": 1}, 'no state "gren". Did you mean "green"'),
    ],
)
def test_initialise_refuses_with_the_reason(parameters: dict, state: dict, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        CellModel(garden).initialise(SimpleNamespace(n_cells=10), parameters, state, {})


def test_a_derived_array_of_another_length_is_refused() -> None:
    def derive(p: garden.Parameters) -> garden.Derived:
        return garden.Derived(*np.ones((len(garden.Derived._fields), 3)))

    module: Any = type("module", (), {**vars(garden), "derive": derive})
    with pytest.raises(ModelError, match='garden: "room" of `derive` has 3 values, expected one, or one for each of 10 cells'):
        CellModel(module).initialise(SimpleNamespace(n_cells=10), {}, {}, {})


def test_inputs_without_a_variable_are_refused() -> None:
    with pytest.raises(ModelError, match='needs the forcing "warmth"; the inputs hold rain'):
        garden_model(10).advance(range(1), MemoryInputs({"rain": np.zeros((1, 10))}), CLOCK, NOTHING)


def test_forcing_of_a_type_that_no_kernel_reads_is_refused() -> None:
    with pytest.raises(ForcingError, match="int64"):
        garden_model(10).advance(range(1), MemoryInputs(garden_weather(10, 1), dtype="int64"), CLOCK, NOTHING)


def test_the_digest_tells_models_apart_and_is_the_same_every_time() -> None:
    assert CellModel(garden).digest == CellModel(garden, "float32", 3).digest
    assert CellModel(garden).digest != CellModel(bucket).digest


def test_variables_come_from_the_declarations() -> None:
    model = CellModel(garden)
    assert list(model.variables)[:4] == ["upper", "lower", "green", "age"]
    assert model.variables["rain"].units == "mm d-1"
    assert list(garden_model(3).state) == ["upper", "lower", "green", "age", "burn", "bad_code", "bad_step"]


def test_the_bucket_of_the_examples_keeps_its_water() -> None:
    values = weather(400, 60)
    model = started(bucket, 400, dtype="float64", capacity=np.linspace(20, 300, 400))
    recorder = MemoryRecorder([(name, "sum") for name in ("rain", "runoff", "actual_evaporation", "drainage")], 60, 400, 60)
    before = model.state["water"].copy()
    model.advance(range(60), MemoryInputs(values, dtype="float64"), CLOCK, recorder)
    rain, runoff, evaporation, drainage = (v[0] for v in recorder.values.values())
    assert np.allclose(before + rain - runoff - evaporation - drainage, model.state["water"], rtol=0, atol=1e-10)
