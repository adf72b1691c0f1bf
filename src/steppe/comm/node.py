"""Hosts of ranks, and the shared memory of a host."""

import ctypes
import mmap
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import numpy as np

from steppe.array_types import Bytes, Integers
from steppe.comm.agree import agreed
from steppe.comm.machine_state import free_memory
from steppe.comm.world import World
from steppe.errors import Failure

BOOT = Path("/proc/sys/kernel/random/boot_id")  # tells hosts of one name apart
NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux: addresses alone, without memory
TO_ADDRESS = 1 | 2  # MREMAP_MAYMOVE | MREMAP_FIXED
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mremap.restype = ctypes.c_void_p
LIBC.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def nodes(world: World, host: str | None = None) -> list[int]:
    """The host of each rank, by rank; hosts are numbered in the order of their lowest ranks. Every rank calls it.

    host: replaces the name of this host (tests), by default that of `world.host`.
    """
    processes = "/proc/self/ns/pid"  # ranks in containers of their own do not see each other
    told = [BOOT.read_text(encoding="utf-8") if BOOT.exists() else "", os.readlink(processes) if os.path.exists(processes) else ""]
    found = of_all(world, [_number(host or world.host or " ".join([socket.gethostname(), *told]))])[:, 0].tolist()
    numbers = {host: number for number, host in enumerate(dict.fromkeys(found))}
    return [numbers[host] for host in found]


@contextmanager
def _failing(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Failure(f"{what}: {error.strerror}.") from None


def shared(world: World, node: Sequence[int], length: int) -> Bytes:
    """Zeroed memory that the ranks of a host share. It has no name: the system frees it however the ranks end.

    Every rank calls it. node: the host of each rank; length [bytes]: the same on all ranks of a host.

    Raises
    ------
    Failure
        A host lacks the memory, or its ranks may not open each other's files. Raised on every rank.
    """
    leader, length, file = node.index(node[world.rank]), max(length, 1), -1
    try:
        with agreed(world), _failing(f"Rank {world.rank} cannot share {length / 1e6:.0f} MB of memory with other ranks"):
            if world.rank == leader:
                if length > (free := free_memory()):
                    raise OSError(0, f"the host has {free / 1e6:.0f} MB left")  # the system would end other programs to make room
                file = os.memfd_create("steppe")
                os.posix_fallocate(file, 0, length)  # missing memory raises here instead of a signal later
        owner, number = of_all(world, [os.getpid(), file])[leader]
        with agreed(world), _failing(f"Rank {world.rank} cannot see the memory of rank {leader} on its own host"):
            theirs = os.open(f"/proc/{owner}/fd/{number}", os.O_RDWR | os.O_CLOEXEC)
            memory = mmap.mmap(theirs, length)
            os.close(theirs)
    finally:
        if file >= 0:
            os.close(file)
    return np.frombuffer(memory, np.uint8)


def placed(memory: Bytes, pieces: Integers, length: int) -> Bytes:
    """Addresses for `length` bytes, in which pieces of shared memory have places of their own.

    All other bytes are zero, and take memory when they are changed.

    Parameters
    ----------
    memory
        From `shared` or from this function.
    pieces
        (pieces, 3): where each begins in `memory`, where it begins here, and its bytes; multiples of the system's page.

    Raises
    ------
    Failure
        The system gives this process not so many addresses.
    """
    with _failing(f"Addresses for {length / 1e6:,.0f} MB cannot be had"):
        space = mmap.mmap(-1, max(length, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
        with suppress(OSError):  # a system without large pages
            space.madvise(mmap.MADV_NOHUGEPAGE)  # a change takes the memory of a page, and not of a large one
        found = np.frombuffer(space, np.uint8)
        for there, here, count in pieces.tolist():
            assert max(there + count - memory.size, here + count - length) <= 0
            old, new = memory.ctypes.data + there, found.ctypes.data + here
            if LIBC.mremap(old, 0, count, TO_ADDRESS, new) != new:  # for a length of 0 the old place stays, too
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def forget(memory: Bytes, first: int, count: int) -> None:
    """Gives back the memory of bytes of `placed` that are in no piece. first, count: multiples of the system's page."""
    LIBC.madvise(memory.ctypes.data + first, count, mmap.MADV_DONTNEED)


def _number(host: str) -> int:
    return int.from_bytes(sha256(host.encode()).digest()[:7])


def of_all(world: World, numbers: Sequence[int]) -> Integers:
    """The numbers of every rank, (ranks, numbers). Every rank calls it."""
    found = np.zeros((world.size, len(numbers)), np.int64)
    found[world.rank] = numbers
    return world.reduce(found, "sum")
