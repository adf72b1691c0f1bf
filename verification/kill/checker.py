"""What must hold of a run that was steered while its processes died: its journal, its states and its files."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from steppe.control.orders import CHANGES, BranchRecord, Command
from steppe.control.server.journal import Journal
from steppe.jobs.replay import replay, scenarios_of
from verification.kill.served import Client, Steering

STATES = ("water", "capacity")
OVER = ("done", "failed", "cancelled")


def rest(client: Client, folder: Path) -> dict[str, Any]:
    """Waits until the run has nothing to do; an engine that died too often is started again."""

    def resting(info: dict[str, Any]) -> bool:
        if info["state"] == "failed":
            client.ask("POST", "/start", {}, "start", insist=False)
        return info["state"] in ("ready", "finished", "up") and not waiting(folder)

    return client.until(resting, "rest", 0.2)


def waiting(folder: Path) -> list[str]:
    """What is still to be done, but for what is ordered for later than anybody steps."""
    journal = Journal.snapshot(folder / "journal.sqlite")
    found, branches = [], {branch.id: branch for branch in journal.branches()}
    for each in journal.commands():
        later = each.at_step is not None and each.at_step > branches[each.branch].target
        due_later = each.due.isdecimal() and int(each.due) > branches[each.branch].target
        if each.outcome is None and not later and not (each.at_step is None and due_later):
            found.append(f"command {each.seq} ({each.kind})")
    found += [f"branch {each.id}" for each in branches.values() if each.shown_step < each.target]
    return found


def check_journal(journal: Journal, accepted: dict[str, int], refused: Iterable[str]) -> None:
    """Every accepted command once, no refused one, every outcome known, every end at one step."""
    commands = [*journal.commands()]
    people = [each for each in commands if not each.who.startswith("trigger:")]
    kept = {each.key: each.seq for each in people}
    assert len(kept) == len(people)
    assert kept == accepted, f"journal and receipts differ: {set(kept.items()) ^ set(accepted.items())}"
    assert not kept.keys() & set(refused)
    for each in commands:
        _check_command(each)
    _check_cancelled(commands)
    _check_triggers(journal, commands)


def _check_triggers(journal: Journal, commands: list[Command]) -> None:
    """Each pause that people were told of is in the journal, and no other."""
    told = [what for _, what in journal.emissions(0) if what["kind"] == "pause"]
    rows = [(each.branch, each.at_step, each.who) for each in commands if each.who.startswith("trigger:")]
    assert sorted(rows) == sorted((what["branch"], what["step"], what["source"]) for what in told)


def _check_command(each: Command) -> None:
    if each.kind in CHANGES and each.outcome in ("done", "failed") and each.at_step is not None:
        assert each.ended_step == each.at_step, f"{each} was to happen at one step and happened at another"
    assert each.outcome is None or each.ended_step is not None, f"{each} ended nowhere"
    if each.kind == "step" and each.outcome == "done":
        assert each.ended_step == each.target


def _check_cancelled(commands: list[Command]) -> None:
    """Steps that were cut short end where a pause or a rewind of their branch says."""
    ends = {(each.branch, each.ended_step) for each in commands if each.kind in ("pause", "rewind", "restart")}
    closed = {each.branch for each in commands if each.kind in ("rewind", "restart", "leave")}
    for each in commands:
        if each.kind == "step" and each.outcome == "cancelled":
            assert (each.branch, each.ended_step) in ends or each.branch in closed, f"{each} was cancelled by nobody"


def state_of(client: Client, branch: BranchRecord) -> dict[str, bytes]:
    """The values of a scenario that people see, by the server."""
    found = {}
    for name in STATES:
        answer = client.ask("GET", f"/data/{name}?scenario={branch.name}&format=raw&packed=1")
        assert answer.status_code == 200, answer.text
        size = int.from_bytes(answer.content[:4], "little")
        found[name] = answer.content[4 + size :]
    return found


def check_states(client: Client, folder: Path, aside: Path, names: Iterable[str] | None = None) -> dict[str, Path]:
    """Each scenario is bit by bit that of a run by the journal alone; gives the folders of those runs."""
    journal = Journal.snapshot(folder / "journal.sqlite")
    made = {}
    for branch in scenarios_of(journal):
        if names is not None and branch.name not in names:
            continue
        shown = state_of(client, branch)
        done = replay(folder, journal, branch, aside / branch.name, look=STATES)
        assert not done.differs, done.differs
        for name in STATES:
            expected = np.asarray(done.values[name]).tobytes()
            assert shown[name] == expected, f"{name} of {branch.name} at step {branch.shown_step} differs from its journal's"
        made[branch.name] = aside / branch.name
    return made


def store(folder: Path) -> dict[str, str]:
    """File -> hash of an output store, but for what it says of its branch and where that left its parent: a replay has none."""
    files = [path for path in sorted((folder / "output.zarr").rglob("*")) if path.is_file()]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    described = json.loads(found["output.zarr/zarr.json"])
    for name in ("steppe_run", "steppe_parent_run", "steppe_parent_step"):
        described["attributes"].pop(name, None)
    found["output.zarr/zarr.json"] = json.dumps(described).encode()
    return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}


def gathered(clients: list[Steering]) -> tuple[dict[str, int], dict[str, str]]:
    """What all clients know: receipts and refusals."""
    for each in clients:
        if each.error:
            raise each.error
    return (
        {key: seq for each in clients for key, seq in each.accepted.items()},
        {key: code for each in clients for key, code in each.refused.items()},
    )
