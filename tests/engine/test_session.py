"""A run that is steered: the same state at the same position, however it came there, on any number of ranks."""

import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steppe
from steppe.engine import Session
from steppe.engine.rank_state import RankState
from steppe.errors import DamagedError, Failure, NotComputedError, RequestError, ShapeError, UnknownNameError
from steppe.grid import from_plain
from tests.engine.sessions import OWN, on_session, query, seen, sent, setting, to
from tests.engine.test_simulation import digest
from tests.scenario import copied

RANKS = (1, 2, 3)


def test_a_stage_that_nobody_steers_makes_the_run_of_the_command(wide_scenario, made_wide_scenario, tmp_path):
    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 420)
        session.save(1)

    on_session(wide_scenario, work, 2)
    other = copied(made_wide_scenario, tmp_path / "command")
    assert digest(wide_scenario.parent / "out") == digest(steppe.run(other))


def test_what_a_run_is_can_be_told_in_json(scenario):
    def work(session: Session) -> None:
        facts = json.loads(json.dumps(session.describe(), allow_nan=False))
        assert from_plain(facts["grid"]).digest == session.plan.grid.digest
        variables = {variable["name"]: variable for variable in facts["variables"]}
        assert variables["water"]["settable"]
        assert variables["irrigation"]["settable"]
        assert not variables["runoff"]["settable"]
        assert not variables["rain"]["settable"]
        assert variables["water"]["units"] == "mm"
        assert facts["steps"] == 420
        assert facts["parameters"]["capacity"] == 120.0

    on_session(scenario, work)


def test_copies_of_the_past_that_cost_much_lie_far_apart(scenario, monkeypatch):
    monkeypatch.setattr("steppe.engine.session.REMEMBER", 0.0)
    monkeypatch.setattr("steppe.engine.session.PIECE", 1e-9)
    copy, found = RankState.remember, []

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 400)
        found.append(session._branches.snapshots.bytes)

    on_session(scenario, work)
    monkeypatch.setattr(RankState, "remember", lambda part, entry: (time.sleep(0.05), copy(part, entry))[1])
    on_session(scenario, work)
    few, many = sorted(found)
    assert found == [many, few]
    assert many > 4 * few


def test_a_refused_change_leaves_a_state_beyond_its_limits_as_it_was(wide_scenario):
    model = wide_scenario.parent / "narrow.py"
    model.write_text(Path("examples/bucket.py").read_text().replace("low=0, high=1000, initial=50", "low=0, high=60, initial=50"))

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 6)
        before = seen(session, "water")
        first = np.arange(before.size) < before.size // 2
        assert before[first].max() > 60
        upload = sent(session, np.where(first, 50.0, -1e3).astype("<f4"))
        outcome = session.apply(1, 3, "set", setting("water", upload=upload))
        assert not outcome.ok
        assert "it must be a number from 0 to 60 mm" in outcome.detail["text"]
        assert np.array_equal(seen(session, "water"), before)

    on_session(wide_scenario, work, 2, model=f'"{model}"')


def steered(session: Session) -> list[Any]:
    """A session with changes of every kind; what it found, and where."""
    cells = sent(session, np.arange(40, 90, dtype="<u4"))
    halves = sent(session, np.linspace(0.5, 1.0, session.plan.grid.n_cells, dtype="<f4"))
    actions = [
        (20, 3, setting("capacity", 80.0)),
        (20, 4, setting("water", 2.0, operation="scale", cells=cells)),
        (20, 6, setting("water", -1.0, cells=cells)),
        (50, 8, setting("water", 5.0, operation="add")),
        (50, 9, setting("capacity", 1.5, operation="scale", cells=cells)),
        (77, 10, setting("water", upload=halves, operation="scale")),
        (77, 12, setting("runoff", 1.0)),
        (80, 13, setting("irrigation", 20.0, cells=cells)),
        (80, 14, setting("watr", 20.0)),
        (80, 15, setting("water", upload=halves, cells=cells)),
    ]
    found: list[Any] = [session.load(1, OWN)]
    for step, seq, arguments in actions:
        if (step, seq) > session.position(1):
            to(session, step)
            found.append(session.apply(1, seq, "set", arguments))
            assert session.position(1) == (step, seq)
    to(session, 100)
    return [*found, *(seen(session, name).tolist() for name in ("water", "capacity", "runoff", "rain"))]


@pytest.fixture(scope="module")
def findings(made_wide_scenario, tmp_path_factory):
    """What a session finds on one rank."""
    return on_session(copied(made_wide_scenario, tmp_path_factory.mktemp("session")), steered)


def test_outcomes_tell_what_was_done_and_why_not(findings):
    outcomes = findings[1:-4]
    assert [outcome.ok for outcome in outcomes] == [True, True, False, True, True, True, False, True, False, False]
    assert outcomes[0].detail == {"variable": "capacity", "cells": 692, "before": 692 * 120.0, "after": 692 * 80.0}
    assert outcomes[1].detail["after"] == pytest.approx(2.0 * outcomes[1].detail["before"], rel=1e-6)
    codes = [outcome.detail["code"] for outcome in outcomes if not outcome.ok]
    assert codes == ["out-of-range", "derived-variable", "unknown-variable", "array-shape"]
    assert outcomes[2].digest == outcomes[1].digest
    assert outcomes[3].digest != outcomes[2].digest


@pytest.mark.parametrize("ranks", RANKS[1:])
def test_ranks_do_not_change_what_a_session_finds(wide_scenario, findings, ranks):
    assert on_session(wide_scenario, steered, ranks) == findings


@pytest.mark.parametrize("ranks", RANKS)
def test_a_session_goes_on_from_its_checkpoint_as_if_it_had_not_ended(wide_scenario, findings, ranks):
    def first(session: Session) -> Any:
        session.load(1, OWN)
        to(session, 20)
        session.apply(1, 3, "set", setting("capacity", 80.0))
        saved = session.save(1)
        assert session.save(1) == saved
        to(session, 33)
        session.apply(1, 4, "set", setting("water", 0.0))  # lost
        return saved

    def then(session: Session) -> Any:
        assert session.load(1, OWN) == saved.position
        assert session.save(1).name == saved.name
        return steered(session)

    saved = on_session(wide_scenario, first, ranks)
    assert (saved.name, saved.position) == ("0000000020-3", (20, 3))
    assert saved.bytes > 692 * 4
    assert on_session(wide_scenario, then, 4 - ranks)[2:] == findings[3:-4] + findings[-4:]


def test_a_checkpoint_beyond_the_path_is_not_taken(scenario):
    def first(session: Session) -> None:
        session.load(1, OWN)
        for step in (10, 20):
            to(session, step)
            session.save(1, pin=step == 10)
        for step in (30, 40):
            to(session, step)
            session.save(1)

    on_session(scenario, first)
    kept = sorted(path.name for path in (scenario.parent / "out" / "checkpoints").iterdir())
    assert kept == ["0000000010", "0000000030", "0000000040"]
    for limit, expected in (((40, 0), (40, 0)), ((39, 7), (30, 0)), ((29, 0), (10, 0)), ((9, 0), (0, 0))):
        copy = copied(scenario, scenario.parent.parent / f"copy{limit[0]}")
        assert on_session(copy, lambda session, limit=limit: session.load(1, [(1, *limit)])) == expected
        shutil.rmtree(copy.parent)


@pytest.mark.parametrize("ranks", RANKS)
def test_diagnostics_are_known_where_an_engine_begins(wide_scenario, ranks):
    """From the checkpoint before, with what was done between them; or from the initial state, where there is none."""

    def stepped(session: Session) -> dict[int, np.ndarray]:
        session.load(1, OWN)
        found = {}
        for number, step in enumerate((20, 33, 47), 1):
            to(session, step)
            found[step] = seen(session, "runoff")
            session.save(1)
            assert session.apply(1, number, "set", setting("water", 9.0 - number)).ok
            session.save(1)
            assert session.apply(1, 10 + number, "set", setting("capacity", 30.0, operation="add")).ok
        to(session, 60)
        assert session.apply(1, 20, "event", {"id": 20, "step": 65, "yearly": "", "change": setting("water", 1.0)}).ok
        to(session, 75)
        found[75] = seen(session, "runoff")
        found[70] = seen(session, "runoff", step=70)
        session.save(1)
        return found

    def again(session: Session) -> dict[int, np.ndarray]:
        position = session.load(1, OWN)
        found = {75: seen(session, "runoff"), 70: seen(session, "runoff", step=70)}
        assert session.position(1) == position == (75, 0)
        return found

    def first(session: Session) -> np.ndarray:
        session.load(1, OWN)
        to(session, 20)
        found = seen(session, "runoff")
        assert session.apply(1, 1, "set", setting("water", 8.0)).ok
        session.save(1)
        return found

    expected = on_session(wide_scenario, stepped, ranks)
    for step, values in on_session(wide_scenario, again, ranks).items():
        np.testing.assert_array_equal(values, expected[step])
    shutil.rmtree(wide_scenario.parent / "out")
    at_first = on_session(wide_scenario, first, ranks)
    np.testing.assert_array_equal(
        on_session(wide_scenario, lambda session: (session.load(1, OWN), seen(session, "runoff"))[1], ranks), at_first
    )


@pytest.mark.parametrize("ranks", RANKS)
def test_looks_get_the_last_step_and_move_only_once(wide_scenario, ranks):
    def work(session: Session) -> None:
        session.load(1, OWN)
        request = query({"name": "water", "box": [144.0, -22.0, 145.0, -20.0]})
        cells = session.plan.grid.select({"box": [144.0, -22.0, 145.0, -20.0]})
        with pytest.raises(NotComputedError, match="belongs to a step"):
            session.get(1, query({"name": "runoff"}))
        to(session, 20)
        assert session.answer(1, request) is None
        head, body = session.get(1, request)
        assert (head["step"], head["seq"], head["units"], head["dims"]) == (20, 0, "mm", ["lat", "lon"])
        moved = session.moved["water"]
        assert moved == head["moved"] == 4 * (692 if ranks == 1 else len(cells))
        again, same = session.answer(1, request)
        assert (again["moved"], bytes(same), session.moved["water"]) == (0, bytes(body), moved)
        values = np.frombuffer(body, head["dtype"]).reshape(head["shape"])
        whole = session.plan.grid.unpack(seen(session, "water"))
        rows, columns = np.divmod(session.plan.grid.order[cells], 27)
        np.testing.assert_array_equal(values, whole[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1])
        to(session, 21)
        assert session.answer(1, request)[0]["step"] == 21  # it is shown while somebody looks
        packed = seen(session, "water")
        listed = np.array([5, 600, 5, 13], "<u4").tobytes()
        assert seen(session, "water", chosen=listed).tolist() == packed[[5, 600, 5, 13]].tolist()
        rows, columns = np.divmod(session.plan.grid.order, 27)
        assert seen(session, "water", stride=3).tolist() == packed[(rows % 3 == 0) & (columns % 3 == 0)].tolist()
        head, body = session.get(1, query({"name": "water", "stride": 2}))
        np.testing.assert_array_equal(
            np.frombuffer(body, head["dtype"]).reshape(head["shape"]), session.plan.grid.unpack(seen(session, "water"))[::2, ::2]
        )

    on_session(wide_scenario, work, ranks)


def reduced(grid: Any, values: np.ndarray, rows: range, columns: range, height: int, width: int, reduce: str) -> np.ndarray:
    """Pixels of a map, one by one: each has the cells whose centres lie in it."""
    whole, area = grid.unpack(values.astype(np.float64)), grid.unpack(grid.cell_area)
    found = np.full((height, width), np.nan)
    for i in range(height):
        for j in range(width):
            inside = np.ix_(
                [r for r in rows if i <= (r - rows.start + 0.5) * height / len(rows) < i + 1],
                [c for c in columns if j <= (c - columns.start + 0.5) * width / len(columns) < j + 1],
            )
            known = np.isfinite(whole[inside])
            if known.any():
                some, weights = whole[inside][known], area[inside][known]
                mean = (some * weights).sum() / weights.sum()
                found[i, j] = {"mean": mean, "min": some.min(), "max": some.max(), "first": some[0]}[reduce]
    return found


@pytest.mark.parametrize("ranks", RANKS)
def test_pixels_are_taken_together_where_the_cells_are(wide_scenario, ranks):
    def work(session: Session) -> list[bytes]:
        session.load(1, OWN)
        to(session, 30)
        grid, bodies = session.plan.grid, []
        water = seen(session, "water")
        cells = grid.select({"box": [144.0, -24.0, 148.0, -21.0]})
        row, column = np.divmod(grid.order[cells], 27)
        part = range(row.min(), row.max() + 1), range(column.min(), column.max() + 1)
        whole = range(26), range(27)
        session.advance([1], 31, 0.0)  # what was whole is not shown any more
        session._cache.discard(1)
        session._cache.show(session._branch(1), False)
        before = session.moved["water"]
        for words, height, width in (
            ({"width": 7}, 7, 7),
            ({"width": 400}, 26, 27),
            ({"height": 5, "reduce": "max"}, 5, 5),
            ({"width": 4, "height": 9, "reduce": "min"}, 9, 4),
            ({"width": 3, "box": [144.0, -24.0, 148.0, -21.0]}, 2, 3),
            ({"width": 3, "height": 2, "box": [144.0, -24.0, 148.0, -21.0], "reduce": "first"}, 2, 3),
        ):
            head, body = session.get(1, query({"name": "water", **words}))
            assert head["shape"] == [height, width]
            bodies.append(bytes(body))
            expected = session.moved["water"] - before
            every = 4 * len(water)  # kept by a single rank, and where each cell is a pixel
            by_many = every if width == 27 else 4 * height * width
            assert head["moved"] == expected == (by_many if session.ranks.world.size > 1 else every * (len(bodies) == 1))
            before = session.moved["water"]
            again = session.answer(1, query({"name": "water", **words}))
            assert (again[0]["moved"], bytes(again[1])) == (0, bytes(body))
            found = np.frombuffer(body, head["dtype"]).reshape(head["shape"])
            bodies.append(found)
        water = seen(session, "water")
        for k, (words, (rows, columns), shape) in enumerate(
            (("mean", whole, (7, 7)), ("mean", whole, (26, 27)), ("max", whole, (5, 5)), ("min", whole, (9, 4)))
        ):
            expected_map = reduced(grid, water, rows, columns, *shape, words)
            np.testing.assert_allclose(bodies[2 * k + 1], expected_map, rtol=1e-5)  # as float32
        np.testing.assert_allclose(bodies[9], reduced(grid, water, *part, 2, 3, "mean"), rtol=1e-5)
        np.testing.assert_allclose(bodies[11], reduced(grid, water, *part, 2, 3, "first"), rtol=1e-5)
        assert session.get(1, query({"name": "water", "width": 3, "box": [144.0, -24.0, 148.0, -21.0]}))[0]["box"] == (
            grid.lon_bnds[part[1][0], 0],
            grid.lat_bnds[part[0][-1], 1],
            grid.lon_bnds[part[1][-1], 1],
            grid.lat_bnds[part[0][0], 0],
        )
        return [body for body in bodies if isinstance(body, bytes)]

    assert on_session(wide_scenario, work, ranks) == on_session(copied(wide_scenario, wide_scenario.parent.parent / "one"), work)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_step_that_is_over_is_told_from_its_record_to_the_bit(wide_scenario, ranks, monkeypatch):
    monkeypatch.setattr("steppe.engine.session.AGAIN", 0.0)  # nothing is computed again

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 10)
        water, part = seen(session, "water"), seen(session, "water", box=[144.0, -22.0, 145.0, -20.0])
        to(session, 20)
        with pytest.raises(NotComputedError, match='no record of "water" holds it'):
            session.get(1, query({"name": "water", "step": 10}))  # it is recorded, but not on the disk yet
        session.save(1)
        head, body = session.get(1, query({"name": "water", "packed": True, "step": 10}))
        assert (head["step"], head["seq"], head["date"]) == (10, 0, "1990-01-19")
        assert np.frombuffer(body, head["dtype"]).tolist() == water.tolist()
        assert seen(session, "water", box=[144.0, -22.0, 145.0, -20.0], step=10).tolist() == part.tolist()
        assert session.get(1, query({"name": "water", "format": "png", "step": 10}))[0]["style"]
        for words in ({"step": 21}, {"name": "rain", "step": 10}):
            with pytest.raises(NotComputedError):
                session.get(1, query({"name": "water", **words}))

    on_session(wide_scenario, work, ranks, output__every='"1 day"')


@pytest.mark.parametrize("ranks", [1, 3])
def test_images_are_the_same_for_any_rank_and_from_what_is_shown(wide_scenario, ranks):
    def work(session: Session) -> list[bytes]:
        session.load(1, OWN)
        to(session, 30)
        found = []
        for words in ({}, {"width": 5}, {"width": 5, "low": 0.0, "high": 50.0, "style": "oslo"}, {"box": [144.0, -24.0, 148.0, -21.0]}):
            request = query({"name": "water", "format": "png", **words})
            head, body = session.get(1, request)
            assert bytes(body[:4]) == b"\x89PNG"
            assert head["low"] < head["high"]
            assert bytes(session.answer(1, request)[1]) == bytes(body)
            found.append(bytes(body))
        with pytest.raises(RequestError, match='no colour map "rainbow"'):
            session.get(1, query({"name": "water", "format": "png", "style": "rainbow"}))
        with pytest.raises(RequestError, match="low < high"):
            session.get(1, query({"name": "water", "format": "png", "low": 5.0, "high": 5.0}))
        return found

    images = on_session(wide_scenario, work, ranks)
    assert len(set(images)) == 4
    assert images == on_session(copied(wide_scenario, wide_scenario.parent.parent / "one"), work)


@pytest.mark.parametrize(
    ("request_", "error", "sentence"),
    [
        ({"name": "watr"}, UnknownNameError, 'Did you mean "water"?'),
        ({"name": "water", "stride": 0}, RequestError, '"stride" is 0'),
        ({}, UnknownNameError, 'There is no variable "".'),
        ({"name": "water", "chosen": bytes(4), "box": [144.0, -22.0, 145.0, -20.0]}, RequestError, "not for both"),
        ({"name": "water", "width": 0}, RequestError, '"width" is 0'),
        ({"name": "water", "width": 3, "packed": True}, RequestError, "are of a map"),
        ({"name": "water", "step": 30}, NotComputedError, "Step 30 is not at hand: it has not come there"),
        ({"name": "water", "chosen": b"12345"}, ShapeError, "5 bytes are none"),
        ({"name": "water", "chosen": b"\xff\xff\xff\xff"}, RequestError, "Cell 4294967295 is none of the 144"),
    ],
)
def test_what_cannot_be_answered_is_refused_and_changes_nothing(scenario, request_, error, sentence):
    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 3)
        before = session.get(1, query({"name": "water"}))
        with pytest.raises(error) as caught:
            session.get(1, query(request_))
        assert sentence in str(caught.value)
        assert bytes(session.get(1, query({"name": "water"}))[1]) == bytes(before[1])

    on_session(scenario, work)


def test_an_action_that_comes_twice_is_a_defect(scenario):
    def work(session: Session) -> None:
        session.load(1, OWN)
        session.apply(1, 5, "set", setting("water", 1.0))
        with pytest.raises(Failure, match="Action 5 came after 5"):
            session.apply(1, 5, "set", setting("water", 2.0))
        assert (seen(session, "water") == 1.0).all()

    on_session(scenario, work)


def test_damaged_uploads_are_named(scenario):
    def work(session: Session) -> None:
        session.load(1, OWN)
        name = sent(session, np.arange(4, dtype="<u4"))
        (scenario.parent / "out" / "uploads" / name).write_bytes(b"....")
        with pytest.raises(DamagedError, match="its hash is wrong"):
            session.apply(1, 1, "set", setting("water", 1.0, cells=name))

    on_session(scenario, work)


@pytest.mark.parametrize("ranks", [1, 2])
def test_damaged_weather_takes_a_branch_back_and_leaves_what_was_computed(wide_scenario, ranks):
    """The branch is given up, since its ranks may stand anywhere; it goes on once the weather is whole again."""
    shards = [path for path in (wide_scenario.parent / "weather.zarr" / "rain" / "c").rglob("[0-9]*") if path.is_file()]
    data = {path: path.read_bytes() for path in shards}

    def work(session: Session) -> None:
        session.load(1, OWN)
        for path, content in data.items():
            path.write_bytes(content[:64] + b"damage" + content[70:])
        with pytest.raises(DamagedError, match="rain"):
            to(session, 5)
        assert not session.has(1)
        for path, content in data.items():
            path.write_bytes(content)
        assert session.load(1, OWN) == (0, 0)
        to(session, 5)
        assert np.isfinite(seen(session, "water")).all()

    on_session(wide_scenario, work, ranks, forcing__spread='"own"')


def test_who_listens_is_answered_with_whole_steps_while_others_are_computed(wide_scenario):
    def work(session: Session) -> dict[int, bytes]:
        session.load(1, OWN)
        to(session, 2)
        request = query({"name": "runoff", "packed": True})
        session.get(1, request)
        heard: dict[int, bytes] = {}
        order: list[int] = []
        ended = threading.Event()

        def listen() -> None:
            while not ended.is_set():
                head, body = session.answer(1, request)  # it is always shown
                assert heard.setdefault(head["step"], bytes(body)) == bytes(body)
                order.append(head["step"])

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            for step in range(3, 300, 3):
                to(session, step, looked=0.02)
        finally:
            ended.set()
            listener.join()
        assert order == sorted(order)
        return heard

    def alone(session: Session) -> dict[int, bytes]:
        session.load(1, OWN)
        found = {}
        for step in heard:
            to(session, step)
            found[step] = bytes(session.get(1, query({"name": "runoff", "packed": True}))[1])
        return found

    heard = on_session(wide_scenario, work)
    assert len(heard) > 3
    assert on_session(copied(wide_scenario, wide_scenario.parent.parent / "alone"), alone) == heard
