"""Sessions that chance makes: whatever is stepped, changed, branched, dropped, saved and ended, a state is a function of its path."""

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from steppe.control import OPEN_END, Leg, Position
from steppe.engine import Session
from tests.engine.sessions import OWN, on_session, setting
from tests.engine.test_simulation import digest
from tests.scenario import copied

END = 420
BEGINNING = Position(0, 0)
LAST = 1 << 40  # seq of an action that does nothing and tells the digest


@dataclass
class Way:
    """What a journal holds of a branch. fork: where it left its parent."""

    parent: int = 0
    fork: Position = BEGINNING
    actions: list[tuple[Position, dict[str, Any]]] = field(default_factory=list)
    at: Position = BEGINNING


class RandomPlay:
    """A journal, and a session that does what is in it, as an engine would."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.ways, self._seq = chance, {1: Way()}, 0
        self.session: Any = None

    def path(self, branch: int) -> list[Leg]:
        legs, limit = [], Position(OPEN_END, OPEN_END)
        while branch:
            legs.append(Leg(branch, *limit))
            branch, limit = self.ways[branch].parent, self.ways[branch].fork
        return legs[::-1]

    def actions(self, branch: int) -> list[tuple[Position, dict[str, Any]]]:
        """All on the way to a branch, in order."""
        return [each for leg in self.path(branch) for each in self.ways[leg.branch].actions if each[0] <= leg[1:]]

    def load(self, branch: int) -> None:
        """Brings a branch to where the journal says that it stands."""
        self.session.load(branch, self.path(branch))
        way = self.ways[branch]
        for at, arguments in self.actions(branch):
            if self.session.position(branch) < at:
                self.step(branch, at.step)
                self.session.apply(branch, at.seq, "set", arguments)
        self.step(branch, way.at.step)

    def step(self, branch: int, step: int) -> None:
        while self.session.position(branch).step < step:
            self.session.advance([branch], step, self.chance.random() < 0.3)

    def go(self, branches: list[int]) -> None:
        """Steps of one branch, or of all that stand where it stands."""
        for branch in branches:
            self.load(branch)
        step = self.ways[branches[0]].at.step
        until = min(END, step + self.chance.choice((1, 3, 20, 90)))
        together = [branch for branch in branches if self.ways[branch].at.step == step]
        while self.session.position(together[0]).step < until:
            self.session.advance(together, until, 0.0)
        for branch in together:
            self.ways[branch].at = max(self.ways[branch].at, Position(until, 0))

    def act(self, branch: int) -> None:
        self.load(branch)
        self._seq += 1
        name, value, operation = self.chance.choice(
            (("capacity", 80.0, "set"), ("water", 1.5, "scale"), ("water", 7.0, "add"), ("water", -9.0, "set"), ("irrigation", 20.0, "set"))
        )
        arguments = setting(name, value, operation=operation)
        way = self.ways[branch]
        way.at = Position(way.at.step, self._seq)
        way.actions.append((way.at, arguments))
        self.session.apply(branch, self._seq, "set", arguments)

    def fork(self, branch: int) -> None:
        way = self.ways[branch]
        positions = [Position(self.chance.randint(0, way.at.step), 0), way.at, *(at for at, _ in way.actions), Position(0, 0)]
        fork = self.chance.choice([at for at in positions if at >= way.fork] or [way.at])
        self.ways[max(self.ways) + 1] = Way(branch, fork, at=fork)
        self.load(max(self.ways))

    def play(self, session: Session, moves: int) -> None:
        """Some moves; the session may be closed at any time afterwards."""
        self.session = session
        for _ in range(moves):
            branch = self.chance.choice(list(self.ways))
            move = self.chance.choice(("go", "go", "go", "together", "act", "act", "fork", "drop", "save"))
            if move == "go":
                self.go([branch])
            elif move == "together":
                self.go(self.chance.sample(list(self.ways), len(self.ways)))
            elif move == "act":
                self.act(branch)
            elif move == "fork" and len(self.ways) < 6:
                self.fork(branch)
            elif move == "drop":
                session.unload(branch)
            elif move == "save":
                self.load(branch)
                assert session.save(branch).position == self.ways[branch].at

    def finish(self, session: Session) -> dict[int, int]:
        """Brings all branches to the end; their digests."""
        self.session, found = session, {}
        for branch, way in self.ways.items():
            way.at = max(way.at, Position(END, 0))
            self.load(branch)
            found[branch] = session.apply(branch, LAST, "pause", {}).digest
            session.save(branch)
        return found


@pytest.mark.parametrize("seed", range(4))
def test_a_state_and_its_results_are_a_function_of_the_path(scenario: Path, seed: int) -> None:
    chance = random.Random(seed)
    play = RandomPlay(chance)
    for _ in range(3):  # sessions of engines, each closed without a word
        on_session(scenario, lambda session: play.play(session, chance.randint(5, 25)), chance.choice((1, 1, 2)))
    found = on_session(scenario, play.finish)
    out = scenario.parent / "out"
    for branch in play.ways:
        actions = play.actions(branch)

        def in_one_go(session: Session, actions: Any = actions) -> int:
            session.load(1, OWN)
            for at, arguments in [*actions, (Position(END, LAST), {})]:
                while session.position(1).step < at.step:
                    session.advance([1], at.step, 0.0)
                outcome = session.apply(1, at.seq, "set" if arguments else "pause", arguments)
            session.save(1)
            return outcome.digest

        other = copied(scenario, scenario.parent.parent / f"alone{branch}")
        shutil.rmtree(other.parent / "out", ignore_errors=True)
        assert on_session(other, in_one_go) == found[branch]
        mine, alone = (digest(folder) for folder in (out if branch == 1 else out / "branches" / str(branch), other.parent / "out"))
        assert {name for name in {*mine, *alone} if mine.get(name) != alone.get(name)} <= {"output.zarr/zarr.json"}
