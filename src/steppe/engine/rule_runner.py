"""Performs the events and triggers of branches, and reports their effects."""

from dataclasses import replace

from steppe.api.expression import ExpressionError, parse
from steppe.control.wire import RuleFiring
from steppe.engine.branch import Arguments, Branch
from steppe.engine.branch_rules import MOST, CalendarEvent, TriggerRule
from steppe.engine.plan import Plan
from steppe.engine.query_cache import image_of
from steppe.engine.uploads import read_change
from steppe.errors import Mistake, NotComputedError, RequestError, SteppeError, UnknownNameError
from steppe.files import make_folder, write_whole

IMAGES = "images"  # in the run folder


class RuleRunner:
    """Performs the rules of the branches of one run."""

    def __init__(self) -> None:
        self._fired: list[RuleFiring] = []
        self._unacknowledged: dict[tuple[int, int, str], RuleFiring] = {}  # by branch, step and source

    def order(self, on: Branch, kind: str, arguments: Arguments) -> dict[str, object]:
        """Adds or removes an event or a trigger; returns its number. The arguments are those of `Session.apply`.

        Raises
        ------
        Mistake
            The rule is not possible; nothing has changed.
        """
        if kind == "remove":
            if arguments["rule"] not in on.rules.numbers:
                raise RequestError(f"There is no event or trigger {arguments['rule']} any more.")
            on.rules = on.rules.without(arguments["rule"])
            return {"rule": arguments["rule"]}
        if len(on.rules.numbers) >= MOST:
            raise RequestError(f"A scenario has {MOST} events and triggers at most. Remove one.")
        if arguments["id"] in on.rules.numbers:
            on.rules = on.rules.moved(arguments["id"])
        if kind == "trigger":
            _check_image(on.plan, arguments)
            trigger = TriggerRule(**{name: arguments[name] for name in ("id", "expression", "action", "text", "variable")})
            try:
                parse(trigger.expression, on.plan.variables)
            except ExpressionError as error:
                raise RequestError(str(error)) from None
            on.rules = on.rules.with_trigger(trigger)
            return {"rule": trigger.id}
        event = CalendarEvent(arguments["id"], arguments["change"], arguments.get("step"), arguments.get("yearly") or "")
        read_change(on.home, on.plan, event.change)
        if event.step is not None and event.step < on.position.step:
            raise NotComputedError(f"Step {event.step} was over; the run had got to step {on.position.step}.")
        on.rules = on.rules.with_event(event)
        return {"rule": event.id}

    def taken(self) -> list[RuleFiring]:
        """The effects of rules since the last call."""
        found, self._fired = self._fired, []
        return found

    def unacknowledged(self, branch: int | None = None) -> list[RuleFiring]:
        """Effects without an acknowledgement, of all branches or one."""
        return [each for each in self._unacknowledged.values() if branch in (None, each.branch)]

    def acknowledge(self, branch: int, step: int, source: str) -> None:
        """Acknowledges an effect; it is not reported again."""
        self._unacknowledged.pop((branch, step, source), None)

    def discard(self, branch: int, after: int) -> None:
        """Discards the effects of a branch behind a step: the piece of steps failed, so they did not happen."""
        self._fired = [each for each in self._fired if each.branch != branch or each.step <= after]
        for key in [key for key in self._unacknowledged if key[0] == branch and key[1] > after]:
            del self._unacknowledged[key]

    def again(self, on: Branch) -> None:
        """Reports the effects that had no acknowledgement in the checkpoint with which a branch begins."""
        for each in on.unacknowledged:
            self._add(each)
        on.unacknowledged = ()

    def events(self, on: Branch) -> None:
        """Performs the events of the next step, and reports them. An impossible change has no effect.

        Raises
        ------
        SteppeError
            An upload is damaged. The state is unusable.
        """
        for event, kind, text in self.make(on):
            self._tell(on, on.position.step + 1, event, kind, text)

    def make(self, on: Branch) -> list[tuple[CalendarEvent, str, str]]:
        """Performs the events of the next step; returns each with the kind and the text of its report."""
        step, clock, said = on.position.step, on.plan.clock, []
        for event in on.rules.due(step, clock, on.plan.steps):
            name = f"Event {event.id}, {clock.begin(step)}" if clock.step else f"Event {event.id}, step {step}"
            try:
                done = on.change(event.change)
                said.append((event, "event", f"{name}: the sum of {done['variable']} was {done['before']:g}, is {done['after']:g}."))
            except Mistake as mistake:
                said.append((event, "warning", f"{name} could not happen: {mistake}"))
            if event.step is not None:
                on.rules = on.rules.without(event.id)
        return said

    def triggers(self, on: Branch) -> None:
        """Evaluates the triggers after a step, and performs the actions of those that have become true.

        Raises
        ------
        SteppeError
            A variable of a trigger cannot be computed.
        """
        if not (watched := on.rules.watched):
            return
        found = on.order("evaluate", expressions=[each.expression for each in watched])
        for trigger, (holds, why) in zip(watched, found, strict=True):
            if why:
                on.rules = on.rules.with_trigger(replace(trigger, off=why))
                self._tell(on, on.position.step, trigger, "warning", f'Trigger {trigger.id} ("{trigger.expression}") is off: {why}.')
                continue
            if holds and not trigger.was:
                self._fire(on, trigger)
            if holds != trigger.was:
                on.rules = on.rules.with_trigger(replace(trigger, was=holds))

    def _fire(self, on: Branch, trigger: TriggerRule) -> None:
        step = on.position.step
        when = on.plan.clock.after(step) if on.plan.clock.step else f"step {step}"
        text = f"{trigger.text or f'{trigger.expression} has become true'} ({when})."
        if trigger.action == "image":
            try:
                text = f"{text} {self._picture(on, trigger)}"
            except (SteppeError, OSError) as error:
                self._tell(on, step, trigger, "warning", f"{text} No image was saved: {error}")
                return
        self._tell(on, step, trigger, trigger.action, text)

    def _picture(self, on: Branch, trigger: TriggerRule) -> str:
        """Saves a map; returns its name in the folder of images. The same trigger and step have the same file."""
        name, folder = f"{on.number}-{on.position.step}-{trigger.id}.png", on.home / IMAGES
        values = on.plan.grid.unpack(on.order("export", name=trigger.variable))
        content = image_of(values, on.plan.variables[trigger.variable])[0]
        make_folder(folder)
        write_whole(folder / name, content)
        return name

    def _tell(self, on: Branch, step: int, rule: CalendarEvent | TriggerRule, kind: str, text: str) -> None:
        source = f"{'trigger' if isinstance(rule, TriggerRule) else 'event'}:{rule.id}"
        self._add(RuleFiring(on.number, step, source, kind, text))

    def _add(self, fired: RuleFiring) -> None:
        self._fired.append(fired)
        self._unacknowledged[fired.branch, fired.step, fired.source] = fired


def _check_image(plan: Plan, arguments: Arguments) -> None:
    if arguments["action"] != "image":
        return
    if arguments["variable"] not in plan.variables:
        raise UnknownNameError(plan.variables.missing(arguments["variable"]))
    if plan.grid.active.ndim != 2:
        raise RequestError("An image is of a raster; these are points.")
