"""Events and triggers: what is to happen by itself in a scenario from now on, until it is removed."""

from steppe.api import EventRequest, Remove, Trigger
from steppe.api.documents import RuleEffect
from steppe.api.expression import ExpressionError, parse
from steppe.control import Command, Refused
from steppe.control.server.supervisor import Supervisor
from steppe.service.changes import arguments_of
from steppe.service.moments import begin_of, check_yearly, step_before
from steppe.service.orders import Orders, Receipt


def events(run: Supervisor) -> list[dict[str, object]]:
    """Changes that are still to come, those of one order too."""
    names = {each["branch"]: each["name"] for each in run.scenarios()}
    waiting = [(names.get(row.branch, ""), row, row.at_step) for row in run.journal.waiting("set")]
    standing = [(scenario, row, row.arguments.get("step")) for scenario, row, _ in _rules(run, "event")]
    return [
        {
            "id": row.seq,
            "scenario": scenario,
            "at_step": step,
            "date": begin_of(step, run.facts) if step is not None and run.facts else None,
            "yearly": row.arguments.get("yearly") or None,
            "arguments": row.arguments.get("change", row.arguments),
            "who": row.who,
        }
        for scenario, row, step in (*waiting, *standing)
    ]


def triggers(run: Supervisor) -> list[dict[str, object]]:
    """Triggers, and what each has done."""
    return [
        {
            "id": row.seq,
            "scenario": scenario,
            **{name: row.arguments[name] for name in ("expression", "action", "text")},
            "variable": row.arguments["variable"] or None,
            "who": row.who,
            "fired": [each["step"] for each in told if each["kind"] != "warning"],
            "off": next((each["text"] for each in told if each["kind"] == "warning" and " is off: " in each["text"]), None),
        }
        for scenario, row, told in _rules(run, "trigger")
    ]


def _rules(run: Supervisor, kind: str) -> list[tuple[str, Command, list[RuleEffect]]]:
    """Scenario, order and deeds of all of a kind; scenarios that a rewind has left have none any more."""
    names = [each["name"] for each in run.scenarios() if "@" not in each["name"]]
    return [(name, row, told) for name in names for row, told in run.rules(name) if row.kind == kind]


async def add_event(orders: Orders, request: EventRequest) -> Receipt:
    """A change at a step or date that is still to come, or every year."""
    arguments: dict[str, object] = {"change": await arguments_of(orders.service, orders.name, request)}
    if request.when.yearly is not None:
        arguments["yearly"] = check_yearly(request.when.yearly, orders.facts, "$.when.yearly")
    else:
        arguments["step"] = orders.moment(request.when, "$.when", step_before)
    return await orders.order("event", request.scenario, arguments, request, when="now")


async def add_trigger(orders: Orders, request: Trigger) -> Receipt:
    """A pause, a message or an image when something becomes true."""
    known = orders.service.known(orders.name)
    try:
        parse(request.expression, known.variables)
    except ExpressionError as error:
        value = request.expression[:64]
        raise Refused("expression-invalid", str(error), value=value, position=error.column, nearest=error.nearest) from None
    if (request.variable is not None) != (request.action == "image"):
        text = 'The action "image" needs the variable that is drawn; the others have none.'
        raise Refused("bad-field", text, value=request.variable, position="$.variable")
    if request.variable is not None:
        orders.service.variable(orders.name, request.variable)
        if known.grid.active.ndim != 2:
            raise Refused("bad-field", "An image is of a raster; these are points.", value="image", position="$.action")
    arguments = {name: getattr(request, name) for name in ("expression", "action", "text")}
    return await orders.order("trigger", request.scenario, arguments | {"variable": request.variable or ""}, request, when="now")


async def remove(orders: Orders, kind: str, seq: int, named: str | None) -> Receipt:
    """Removes an event or a trigger. named: the scenario that has it; None: the first one."""
    run, before = orders.run, orders.before
    known = run.operation(seq)
    if kind == "event" and known is not None and known["kind"] == "set":
        return await orders.cancel(seq)
    if before is not None and before.kind == "remove":
        scenario = str(before.arguments["scenario"])
    else:
        there = [scenario for scenario, row, _ in _rules(run, kind) if row.seq == seq]
        if not there or named not in (None, *there):
            if known is not None and known["kind"] == kind and not there:
                raise Refused("already-finished", f"The {kind} {seq} is over.", value=seq)
            text = f"There is no {kind} {seq}{f' in {named}' if named else ''}."
            raise Refused(f"unknown-{kind}", text, value=seq, allowed=there or None)
        scenario = named or there[0]
    return await orders.order("remove", scenario, {"rule": seq, "scenario": scenario}, Remove(seq=seq, scenario=named), when="now")
