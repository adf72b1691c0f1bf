"""Python objects between two ranks, by the methods of mpi4py: plain buffers, pickled whole, pickled without their buffers."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from steppe.array_types import Array

if TYPE_CHECKING:
    from mpi4py import MPI

PassingMethod = Literal["buffers", "pickled", "out of band"]
Arrays = Sequence[Array]
Send = Callable[[object, int], None]
Receive = Callable[[int], object]


def object_passing(comm: "MPI.Comm", way: PassingMethod, into: Arrays) -> tuple[Send, Receive]:
    """Functions that send an object to a rank, and receive one from a rank.

    buffers: a sequence of arrays, each a message, received in `into`; pickled: any object; out of band: any object, whose buffers pickle 5
    leaves where they are, each a message beside the pickle.
    """
    if way == "pickled":
        return comm.send, lambda source: comm.recv(source=source)
    if way == "out of band":
        from mpi4py.util.pkl5 import Intracomm

        apart = Intracomm(comm)
        return apart.send, lambda source: apart.recv(source=source)

    def send(arrays: Any, to: int) -> None:
        for array in arrays:
            comm.Send(array, to)

    def receive(source: int) -> Arrays:
        for array in into:
            comm.Recv(array, source)
        return into

    return send, receive
