"""Ranks and the messages between them. It knows buffers and requests, not what they hold."""

from steppe.comm.agree import agree_on
from steppe.comm.node import nodes, shared
from steppe.comm.reach import BoxExchange, BoxReach
from steppe.comm.serial import Serial
from steppe.comm.threads import Threads, run_threads
from steppe.comm.world import Operation, Request, World

__all__ = [
    "BoxExchange",
    "BoxReach",
    "Operation",
    "Request",
    "Serial",
    "Threads",
    "World",
    "agree_on",
    "nodes",
    "run_threads",
    "shared",
]
