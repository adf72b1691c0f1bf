"""A served run on uneven ranks is given other shares, as one of a script is; no byte depends on it."""

import pytest

import steppe
from steppe.control import OPEN_END, Leg
from steppe.engine import Stage
from steppe.engine.rank_state import RankState
from tests.engine.stages import OWN, on_stage, seen, setting, to
from tests.engine.test_simulation import digest
from tests.scenario import copied


@pytest.fixture
def uneven(monkeypatch):
    """As the clock would tell when the last share costs six times as much as the first."""
    monkeypatch.setattr(RankState, "tell_busy", lambda part: lambda: [factor * part.kept for factor in (100.0, 200.0, 600.0)])


def sizes(stage: Stage) -> list[int]:
    return [len(cells) for cells in stage.ranks.state(0).deal.cells]


def saved_often(stage: Stage, end: int, every: int = 10) -> None:
    while (step := stage.position(1).step) < end:
        to(stage, min(end, step + every))
        stage.save(1)


def test_uneven_ranks_of_a_served_run_are_given_other_shares(wide_scenario, tmp_path, uneven):
    other = copied(wide_scenario, tmp_path / "other")
    expected = digest(steppe.run(other))
    notes: list[str] = []

    def work(stage: Stage) -> list[int]:
        stage._say = lambda kind, text: notes.append(text)
        stage.load(1, OWN)
        saved_often(stage, stage.plan.steps)
        return sizes(stage)

    first, second, third = on_stage(wide_scenario, work, 3)
    assert first > second > third > 0
    assert [note for note in notes if note.startswith("Shares are cut anew: the ranks were uneven by ")]
    assert digest(wide_scenario.parent / "out") == expected
    first, second, third = on_stage(wide_scenario, sizes, 3)
    assert first > second > third > 0, "the next engine begins with what this one found"


def test_what_was_changed_and_branched_before_the_shares_were_cut_anew_stays(wide_scenario, tmp_path, uneven):
    def work(stage: Stage) -> tuple[bytes, bytes, list[int]]:
        stage.load(1, OWN)
        to(stage, 20)
        assert stage.apply(1, 1, "set", setting("water", 5.0)).ok
        stage.load(2, [Leg(1, 20, 1), Leg(2, OPEN_END, OPEN_END)])
        to(stage, 30, (2,))
        stage.save(2)
        saved_often(stage, 200)
        to(stage, 200, (2,))
        return seen(stage, "water").tobytes(), seen(stage, "runoff", 2).tobytes(), sizes(stage)

    alone = copied(wide_scenario, tmp_path / "alone")
    water, runoff, cut = on_stage(wide_scenario, work, 3)
    assert cut[0] > cut[2]
    assert on_stage(alone, work)[:2] == (water, runoff)
