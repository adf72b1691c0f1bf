"""Steering a run on a server from Python: `steppe.connect` for programs that wait, `steppe.connect_async` for those that do not."""

from steppe.client.connect import connect, connect_async
from steppe.client.operation import AsyncOperation
from steppe.client.picture import Picture
from steppe.client.refusals import (
    EngineFailedError,
    NoAccessError,
    NotAtHandError,
    RefusedError,
    StaleError,
    UnknownError,
    UnreachableError,
)
from steppe.client.run import AsyncRun
from steppe.client.sync import Operation, Run

__all__ = [
    "AsyncOperation",
    "AsyncRun",
    "EngineFailedError",
    "NoAccessError",
    "NotAtHandError",
    "Operation",
    "Picture",
    "RefusedError",
    "Run",
    "StaleError",
    "UnknownError",
    "UnreachableError",
    "connect",
    "connect_async",
]
