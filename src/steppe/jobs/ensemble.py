"""Many scenarios of one run, computed side by side by one engine: each piece of weather is read and decoded once for all.

Every scenario is a branch that leaves the run before its first step. Its results lie in `branches/<number>/` of the run folder;
`ensemble.json` names the folder of each. A scenario that was computed before is not computed again.
"""

import csv
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path

from steppe.api import array_of
from steppe.api.query import MapQuery
from steppe.array_types import Array
from steppe.control import OPEN_END, Leg, Position
from steppe.engine.bad_cell import frozen
from steppe.engine.cadence import Cadence
from steppe.engine.check import remarks
from steppe.engine.open_branches import Budget
from steppe.engine.plan import Plan
from steppe.engine.ranks import Ranks
from steppe.engine.script_session import Event
from steppe.engine.session import Session
from steppe.errors import BadCellError, FolderError, Mistake, ModelError, nearest
from steppe.grid import semicolons
from steppe.io import Ensemble, Member, expect_no_results
from steppe.variable import Role, Variable

BEGIN = (Role.PARAMETER, Role.STATE)  # what a run begins with
SHOWN = 3  # scenarios with a bad cell that are named


@dataclass(frozen=True)
class Scenario:
    """A name, and the settings that differ from the run: state or parameter -> value, as a run file has them, in all cells."""

    name: str
    set: Mapping[str, float]


def read_scenarios(path: Path) -> list[Scenario]:
    """Scenarios of a file: CSV with a column `name` and one for each variable, or TOML with tables [[scenario]] (name, set).

    An empty field of a CSV is not set.

    Raises
    ------
    Mistake
        The file cannot be read, or a line or table is wrong; the message names line and column.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets begin a file with a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        raise Mistake(f'The scenarios "{path}" cannot be read: {error}.') from None
    found = _of_toml(path, text) if path.suffix == ".toml" else _of_csv(path, text)
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise Mistake(f'"{path}" has two scenarios called "{name}"; give each its own name.')
        if not name or not all(letter.isalnum() or letter in "._-" for letter in name):
            raise Mistake(f'"{path}": the name "{name}" must be of letters, digits, dots, hyphens and underscores.')
    if not found:
        raise Mistake(f'"{path}" has no scenarios. Give it a line for each below the names of the columns.')
    return found


def _of_csv(path: Path, text: str) -> list[Scenario]:
    lines = csv.reader(text.splitlines())
    rows = [(lines.line_num, row) for row in lines if row and not row[0].startswith("#")]
    if not rows or rows[0][1][0].strip() != "name" or len(rows[0][1]) < 2:
        advice = semicolons(rows[0][1] if rows else [])
        raise Mistake(f'"{path}" must begin with a line of column names: name, then states or parameters.{advice}')
    columns = [column.strip() for column in rows[0][1][1:]]
    if twice := [column for column in columns if columns.count(column) > 1]:
        raise Mistake(f'"{path}" has two columns called "{twice[0]}". Remove one.')
    found = []
    for number, (name, *values) in rows[1:]:
        if len(values) != len(columns):
            raise Mistake(f'"{path}", line {number}: {len(values) + 1} columns, expected {len(columns) + 1}.')
        numbers = {}
        for column, value in zip(columns, values, strict=True):
            try:
                if value.strip():
                    numbers[column] = float(value)
            except ValueError:
                raise Mistake(f'"{path}", line {number}: {column} is "{value}", expected a number, or nothing.') from None
        found.append(Scenario(name.strip(), numbers))
    return found


def _of_toml(path: Path, text: str) -> list[Scenario]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f'"{path}" is no TOML: {error}.') from None
    tables = content.get("scenario", [])
    if unknown := [key for key in content if key != "scenario"]:
        raise Mistake(f'"{path}": key "{unknown[0]}" is not known. The file has tables [[scenario]].{nearest(unknown[0], ["scenario"])}')
    if not isinstance(tables, list):
        raise Mistake(f'"{path}": scenario is {tables!r:.60}, expected tables [[scenario]].')
    found = []
    for number, table in enumerate(tables, 1):
        where = f'"{path}", [[scenario]] {number}'
        if unknown := [key for key in table if key not in ("name", "set")]:
            raise Mistake(f'{where}: key "{unknown[0]}" is not known. It has name and set.')
        name, values = table.get("name"), table.get("set")
        if not isinstance(name, str) or not isinstance(values, dict):
            raise Mistake(f'{where} must have a name and a table of values, such as name = "small" and set = {{ capacity = 80 }}.')
        for key, value in values.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise Mistake(f"{where}: {key} is {value!r}, expected a number.")
        found.append(Scenario(name, {key: float(value) for key, value in values.items()}))
    return found


def run_ensemble(
    plan: Plan,
    scenarios: Sequence[Scenario],
    ranks: Ranks | None = None,
    tell: Callable[[Event], None] = lambda event: None,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[str, str], None] = lambda kind, text: None,
) -> bool:
    """Computes all scenarios to the end of the run; returns True at the end. The same call continues unfinished ones, and with more
    scenarios after those of before it computes these. tell: gets how far all are; say: gets kind and text of notes and warnings.

    Raises
    ------
    BadCellError
        Some scenarios met a bad cell; the message names them. All others are computed.
    ModelError
        A scenario sets a variable that cannot be set, or a value outside its limits; no scenario is computed.
    FolderError
        The run folder holds another ensemble, or a run.
    """
    for scenario in scenarios:
        for name, value in scenario.set.items():
            if name not in plan.model.variables:
                hint = nearest(name, plan.model.variables)
                raise ModelError(f'Scenario "{scenario.name}" sets "{name}", which {plan.model.name} does not have.{hint}')
            variable = plan.model.variables[name]
            if variable.settable and variable.unfit(value):
                raise ModelError(f'Scenario "{scenario.name}": {variable.refusal(value)}')
            if variable.role is Role.FORCING:
                raise ModelError(
                    f'Scenario "{scenario.name}" sets "{name}", which is an input of a single {plan.clock.unit}. '
                    "Set a state or a parameter, or write an [[event]] in the run file."
                )
    folder = Path(plan.run.output.path)
    expect_no_results(folder)
    numbers = {scenario.name: number for number, scenario in enumerate(scenarios, 2)}
    session = Session(folder, plan, ranks, say)
    try:
        members = tuple(Member(each.name, dict(each.set), folder / "branches" / str(numbers[each.name])) for each in scenarios)
        there = Ensemble.read(folder)
        if there and there.members != members[: len(there.members)]:
            raise FolderError(
                f'"{folder}" holds another ensemble: {_difference(there.members, members)}. Choose another folder for the output.'
            )
        session.open_branches.budget = Budget(len(scenarios) + 1, sys.maxsize)  # all of them make each piece together
        session.load(1, [Leg(1, OPEN_END, OPEN_END)])
        if not there:
            (main,) = session.open_branches.use(1)
            for kind, text in remarks(plan, folder, main.state.outputs, session.notes, main.plan.model, len(scenarios)):
                say(kind, text)
        for scenario in scenarios:
            _begin(session, plan.model.variables, numbers[scenario.name], scenario)
        columns = dict.fromkeys(name for each in scenarios for name in each.set)
        Ensemble(members, {name: _column(plan.model.variables[name]) for name in columns}).write(folder)
        done = _advance(session, plan, {number: name for name, number in numbers.items()}, tell, stop)
        _warn_of_frozen(session, plan, numbers, say)
        return done
    finally:
        session.close()


def _difference(before: Sequence[Member], now: Sequence[Member]) -> str:
    """The first scenario that is another."""
    for number, (one, other) in enumerate(zip_longest(before, now), 1):
        if other is None:
            return f'scenario {number}, "{one.name}", is missing'
        if one.name != other.name:
            return f'scenario {number} is "{other.name}", there it is "{one.name}"; new ones come last'
        for name in sorted({*one.set, *other.set}):
            if one.set.get(name) != other.set.get(name):
                values = (f"{each.set[name]:g}" if name in each.set else "not set" for each in (other, one))
                return f'{name} of "{one.name}" is {next(values)}, there it is {next(values)}'
    return "it lies elsewhere"


def _path(number: int) -> list[Leg]:
    return [Leg(1, 0, 0), Leg(number, OPEN_END, OPEN_END)]


def _begin(session: Session, variables: Mapping[str, Variable], number: int, scenario: Scenario) -> None:
    """Begins a scenario as a run begins whose run file has its numbers: the initial state may follow from parameters."""
    at = session.load(number, _path(number))
    values = {name: value for name, value in scenario.set.items() if variables[name].settable and variables[name].role in BEGIN}
    actions: list[tuple[str, dict[str, object]]] = [("begin", {"values": values})]
    actions += [("set", {"variable": name, "value": value}) for name, value in scenario.set.items() if name not in values]
    for place, (kind, arguments) in enumerate(actions, 1):
        if at < Position(0, place):
            outcome = session.apply(number, place, kind, arguments)
            if not outcome.ok:
                raise ModelError(f'Scenario "{scenario.name}": {outcome.detail["text"]}')


def _advance(session: Session, plan: Plan, names: Mapping[int, str], tell: Callable[[Event], None], stop: Callable[[], bool]) -> bool:
    failed: dict[int, BadCellError] = {}
    cadence, seconds, kind = Cadence(plan.run.engine.checkpoint, plan.run.time.length), 0.0, ""
    while True:
        steps = {number: session.position(number).step for number in names if number not in failed}
        first = min(steps.values(), default=plan.steps)
        kind, date = "progress" if kind else "resumed" if first else "started", plan.clock.begin(min(first, plan.steps - 1))
        tell(Event(kind, date, first, plan.steps, date))
        if first == plan.steps or stop():
            break
        behind = [number for number in steps if steps[number] == first]
        until = cadence.border(first, min([step for step in steps.values() if step > first], default=plan.steps))
        try:
            session.advance(behind, until, looked=0.0)
        except BadCellError as error:
            failed |= error.of
            for number in error.of:  # its records up to this piece stay
                session.load(number, _path(number))
                session.save(number)
        good = [number for number in steps if number not in failed]
        if good and cadence.due(min(session.position(number).step for number in good), seconds):
            begin = time.monotonic()
            for number in good:
                session.save(number)
            seconds = time.monotonic() - begin
            cadence.made()
    for number in steps:
        session.save(number)
    if failed:
        some = "one is" if len(steps) == 1 else f"{len(steps):,} are"
        others = f"; the other {some} computed" if first == plan.steps and steps else ""
        errors = " ".join(f'"{names[number]}": {error}' for number, error in [*failed.items()][:SHOWN])
        more = f" And {len(failed) - SHOWN:,} more." if len(failed) > SHOWN else ""
        raise BadCellError(f"{len(failed):,} of {len(names):,} scenarios stopped at a bad cell{others}. {errors}{more}")
    return first == plan.steps


def _warn_of_frozen(session: Session, plan: Plan, numbers: Mapping[str, int], say: Callable[[str, str], None]) -> None:
    def values(number: int, name: str) -> Array:
        return array_of(*session.get(number, MapQuery(name=name, packed=True)))

    told = [f'Scenario "{name}": {text}' for name, number in numbers.items() if (text := frozen(plan, partial(values, number)))]
    for text in told[:SHOWN]:
        say("warning", text)
    if len(told) > SHOWN:
        say("warning", f"{len(told) - SHOWN:,} more scenarios have bad cells that are frozen.")


def _column(variable: Variable) -> dict[str, object]:
    """Attributes of a column of the table. A column that is also a recorded variable gets another name: its record changes with time."""
    about = variable.attributes() | variable.limits()
    if variable.role is Role.PARAMETER:
        return {"coordinate": variable.name, **about}
    first = {"coordinate": f"set_{variable.name}", "long_name": f"{variable.long_name}, set before the first step"}
    return about | first
