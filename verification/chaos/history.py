"""What the journal says of a run, held against what its clients were told."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from steppe.control.orders import Command
from steppe.control.server.journal import Journal
from verification.chaos.clients import Observer, Ordering, Sent, facts_of


def kept(journal: Journal) -> list[Command]:
    """All commands that clients have ordered."""
    return [each for each in journal.commands() if not each.who.startswith("trigger:")]


def lost(commands: list[Command], clients: list[Ordering]) -> list[str]:
    """Orders that were acknowledged and are not in the journal, exactly once, with their arguments and under their number."""
    rows: dict[str, list[Command]] = {}
    for each in commands:
        rows.setdefault(each.key, []).append(each)
    wrong = []
    for client in clients:
        for key, seq in client.accepted.items():
            for name, told in _expected(key, client.sent[key]):
                there = rows.get(name, [])
                if len(there) != 1 or (name == key and there[0].seq != seq) or not _is(there[0], *told):
                    wrong.append(f"{name} (acknowledged as {seq}): expected {told}, found {there}")
    return wrong


def foreign(commands: list[Command], clients: list[Ordering]) -> list[str]:
    """Commands in the journal that no client was told of: under a refused key, twice, or under no key that was sent."""
    refused = {key: code for each in clients for key, code in each.refused.items()}
    known = {name for each in clients for key in each.accepted for name, _ in _expected(key, each.sent[key])}
    counts = Counter(each.key for each in commands)
    return [
        f"command {each.seq} ({each.kind}) of {each.key}, {refused.get(each.key.partition('/')[0], 'which nobody was told of')}"
        for each in commands
        if each.key not in known or counts[each.key] > 1
    ]


def unordered(clients: list[Ordering]) -> list[str]:
    """Orders that were given after the answer to another one, and have a smaller number."""
    sent = [(each.sent[key], seq) for each in clients for key, seq in each.accepted.items()]
    ends = sorted((one.end, seq) for one, seq in sent)
    wrong, most, passed = [], 0, 0
    for one, seq in sorted(sent, key=lambda each: each[0].begin):
        while passed < len(ends) and ends[passed][0] < one.begin:
            most, passed = max(most, ends[passed][1]), passed + 1
        if seq < most:
            wrong.append(f"{one} has number {seq}, though {most} was acknowledged before it was sent")
    return wrong


def strayed(commands: Iterable[Any], observers: Iterable[Observer]) -> list[str]:
    """What observers have read that is not the beginning of the final log."""
    final = {each.seq: each for each in commands}
    wrong = []
    for observer in observers:
        wrong += observer.changed
        for seq, told in observer.facts.items():
            row = final.get(seq)
            now = facts_of({name: getattr(row, name) for name in row.__dataclass_fields__}) if row else None
            if told != now:
                wrong.append(f"command {seq} was read as {told}, is {now}")
            if row and seq in observer.outcomes and observer.outcomes[seq] != (row.outcome, row.ended_step):
                wrong.append(f"command {seq} was read as {observer.outcomes[seq]}, is {row.outcome} at {row.ended_step}")
    return wrong


def gaps(commands: list[Command], observers: Iterable[Observer]) -> list[str]:
    """Numbers that the final log, or a log that was read, does not have."""
    final = [f"command {seq} is missing" for seq, each in enumerate(commands, 1) if each.seq != seq]
    return [*final, *(text for each in observers for text in each.gaps)]


def _arguments(path: str, content: Any) -> tuple[str, dict[str, Any]]:
    """The kind of the command that an order becomes, and of its arguments those that the client has given."""
    _, where, *rest = path.split("/")
    if where == "scenarios" and rest:
        return ("rewind", {"step": content["step"]}) if rest[1:] else ("leave", {})
    if where == "scenarios":
        return "branch", {"name": content["name"], "step": content["from"]["step"]}
    if where == "set":
        given = {name: content[name] for name in ("variable", "operation", "value")}
        return "set", {**given, "region": content.get("region", "all")}
    if where == "step":
        return "step", {"steps": content["steps"]}
    return where.removesuffix("s"), {}


def _expected(key: str, sent: Sent) -> list[tuple[str, tuple[str, dict[str, Any]]]]:
    """The rows that an order makes: key, and kind with arguments."""
    changes = sent.content.get("set", []) if sent.path == "/scenarios" else []
    return [(key, _arguments(sent.path, sent.content)), *((f"{key}/{n}", _arguments("/set", each)) for n, each in enumerate(changes, 1))]


def _is(command: Command, kind: str, arguments: dict[str, Any]) -> bool:
    """Whether a command is of a kind and has these arguments; beside them it may have what the server made of them."""
    return command.kind == kind and all(command.arguments.get(name) == value for name, value in arguments.items())
