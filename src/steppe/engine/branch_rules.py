"""The rules of a branch: events on a calendar, and triggers. They are a part of its state and of its checkpoints.

    event     at a step, or every year ──> before that step is computed: a variable is set, scaled or added to
    trigger   when its expression becomes true ──> after the step: a pause, a message or an image

The truth of a trigger after the step before is state, too, so a step that is computed again has the same effects.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any, Self

from steppe.clock import Clock
from steppe.errors import RunFileError

MOST = 100  # rules of a branch
SCRIPTS = 1_000_000_000  # the rules of scripts have greater numbers
ACTIONS = ("pause", "message", "image")  # of a trigger


@dataclass(frozen=True)
class CalendarEvent:
    """A change on a date, before a step. change: the arguments of a `set`; step: None for every year; yearly: month-day."""

    id: int
    change: Mapping[str, object]
    step: int | None = None
    yearly: str = ""

    def next(self, start: int, clock: Clock, steps: int) -> int | None:
        """The first step from `start` on before which it happens; None if there is none."""
        if self.step is not None:
            return self.step if self.step >= start else None
        for year in range(clock.date(start).year, clock.date(steps).year + 1):
            try:
                step = clock.index(f"{year:04d}-{self.yearly}")
            except RunFileError:  # no such day in this year, or between two steps
                continue
            if start <= step < steps:
                return step
        return None


@dataclass(frozen=True)
class TriggerRule:
    """An expression with an action. action: "pause", "message" or "image" of `variable`; was: its truth at the last step; off: why it is
    not evaluated any more, or "".
    """

    id: int
    expression: str
    action: str
    text: str = ""
    variable: str = ""
    was: bool = False
    off: str = ""


@dataclass(frozen=True)
class Rules:
    """All rules of a branch, in the order of their numbers."""

    events: tuple[CalendarEvent, ...] = ()
    triggers: tuple[TriggerRule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.events or self.triggers)

    @property
    def numbers(self) -> list[int]:
        """The numbers of all rules."""
        return [each.id for each in self.events] + [each.id for each in self.triggers]

    @property
    def free(self) -> int:
        """The number of the next rule of a script. Those of clients are the numbers of their orders, which begin with 1."""
        return 1 + max([each for each in self.numbers if each > SCRIPTS], default=SCRIPTS)

    def moved(self, id: int) -> Self:
        """The rules with another number for a trigger that a script of a former version made."""
        return replace(self, triggers=tuple(replace(each, id=self.free) if each.id == id else each for each in self.triggers))

    def without(self, id: int) -> Self:
        """The rules without one of them."""
        events = tuple(each for each in self.events if each.id != id)
        return replace(self, events=events, triggers=tuple(each for each in self.triggers if each.id != id))

    def with_event(self, event: CalendarEvent) -> Self:
        """The rules with one more event."""
        return replace(self, events=(*self.events, event))

    def with_trigger(self, trigger: TriggerRule) -> Self:
        """The rules with one more trigger, or with another one of its number."""
        others = (each for each in self.triggers if each.id != trigger.id)
        return replace(self, triggers=tuple(sorted((*others, trigger), key=lambda each: each.id)))

    @property
    def watched(self) -> tuple[TriggerRule, ...]:
        """The triggers that are not off."""
        return tuple(each for each in self.triggers if not each.off)

    def due(self, start: int, clock: Clock, steps: int) -> list[CalendarEvent]:
        """The events that happen before step `start` is computed."""
        return [each for each in self.events if each.next(start, clock, steps) == start]

    def border(self, start: int, clock: Clock, steps: int, observed: bool = True) -> int:
        """The step up to which no rule acts from `start` on: the next event, or the next step for triggers.

        observed: triggers count.
        """
        if observed and self.watched:
            return start + 1
        return min((step for each in self.events if (step := each.next(start + 1, clock, steps)) is not None), default=steps)

    def plain(self) -> dict[str, object]:
        """The rules in types of JSON; {} if there are none."""
        return asdict(self) if self else {}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """From `plain`."""
        events = tuple(CalendarEvent(**each) for each in plain.get("events", ()))
        return cls(events, tuple(TriggerRule(**each) for each in plain.get("triggers", ())))

    @property
    def digest(self) -> int:
        """A number of 63 bits, equal for equal rules; 0 if there are none."""
        if not self:
            return 0
        return int.from_bytes(sha256(json.dumps(self.plain(), sort_keys=True).encode()).digest()[:8], "little") >> 1


NONE = Rules()
