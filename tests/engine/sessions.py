"""What tests of sessions share: a session on some ranks, and what is sent to it."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from steppe.api.query import MapQuery
from steppe.comm import World
from steppe.control import OPEN_END, Leg
from steppe.engine import Plan, Ranks, Session, read_run_file, serve_orders
from steppe.testing import run_threads

OWN = [Leg(1, OPEN_END, OPEN_END)]  # the path of the first branch


def with_ranks(ranks: int, run_file: Path, work: Callable[[Plan, Ranks], Any], **changes: str) -> Any:
    """What `work` makes of the run on rank 0 while the others serve its orders."""

    def rank(world: World) -> Any:
        if world.rank:
            return serve_orders(world, cores=1)
        all_ranks = Ranks(world)
        try:
            plan = Plan.of(read_run_file(run_file, {key.replace("__", "."): value for key, value in changes.items()}), cores=1)
            return work(plan, all_ranks)
        finally:
            all_ranks.dismiss()

    return run_threads(ranks, rank)[0]


def on_session(run_file: Path, work: Callable[[Session], Any], ranks: int = 1, **changes: str) -> Any:
    """What `work` makes of a session of the run; the session is closed, nothing is saved."""

    def in_session(plan: Plan, all_ranks: Ranks) -> Any:
        session = Session(plan.run.output.path, plan, all_ranks)
        try:
            return work(session)
        finally:
            session.close()

    return with_ranks(ranks, run_file, in_session, **changes)


def to(session: Session, step: int, branches: tuple[int, ...] = (1,), looked: float = 0.0) -> None:
    """Steps on until a step."""
    while session.position(branches[0]).step < step:
        session.advance(branches, step, looked)


def sent(session: Session, values: Any) -> str:
    """Puts an array among the uploads of a run; gives its digest."""
    data = np.asarray(values).tobytes()
    folder = session.plan.run.output.path / "uploads"
    folder.mkdir(exist_ok=True)
    (folder / hashlib.sha256(data).hexdigest()).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def setting(variable: str, value: float | None = None, **rest: Any) -> dict[str, Any]:
    """The arguments of an action that sets something."""
    return {"variable": variable, "operation": "set", "value": value, "upload": "", "cells": "", **rest}


def query(words: dict[str, Any]) -> MapQuery:
    """A query as it comes over the wire."""
    return msgspec.convert(words, MapQuery)


def seen(session: Session, name: str, branch: int = 1, **rest: Any) -> np.ndarray:
    """The values of a variable."""
    head, body = session.get(branch, query({"name": name, "packed": True, **rest}))
    return np.frombuffer(body, head["dtype"]).reshape(head["shape"])
