"""Ranks and the messages between them. It knows buffers and requests, not what they hold.

world  what ranks can say to each other          serial, threads, mpi  one rank, ranks for tests, ranks as processes
record  what was said, and one rank again        reach  what a model with neighbours is handed
node  memory of a machine in common              agree  an error of one that ends all alike
launch  who started us, which MPI, which mpiexec  rank, wake, fail  how a rank begins, sleeps and ends
raw  MPI by address, for loops that are timed      objects  Python objects in the ways of mpi4py, timed too

Parts are imported when they are used: a process must know that it is a rank before it imports anything that starts threads.
"""

from typing import TYPE_CHECKING

from steppe.lazy import when_used

if TYPE_CHECKING:
    from steppe.comm.agree import agree_on as agree_on
    from steppe.comm.fail import Whereabouts as Whereabouts
    from steppe.comm.fail import last_words as last_words
    from steppe.comm.launch import Launch as Launch
    from steppe.comm.launch import check_ranks as check_ranks
    from steppe.comm.launch import describe_mpi as describe_mpi
    from steppe.comm.launch import find_launch as find_launch
    from steppe.comm.launch import find_library as find_library
    from steppe.comm.launch import find_mpiexec as find_mpiexec
    from steppe.comm.node import nodes as nodes
    from steppe.comm.node import shared as shared
    from steppe.comm.rank import cores_of_rank as cores_of_rank
    from steppe.comm.rank import keep_stops as keep_stops
    from steppe.comm.rank import kept_stops as kept_stops
    from steppe.comm.rank import open_world as open_world
    from steppe.comm.rank import prepare_rank as prepare_rank
    from steppe.comm.reach import BoxExchange as BoxExchange
    from steppe.comm.reach import BoxReach as BoxReach
    from steppe.comm.record import Recorded as Recorded
    from steppe.comm.record import Replayed as Replayed
    from steppe.comm.serial import Serial as Serial
    from steppe.comm.threads import Threads as Threads
    from steppe.comm.threads import run_threads as run_threads
    from steppe.comm.world import Operation as Operation
    from steppe.comm.world import Request as Request
    from steppe.comm.world import World as World

__getattr__, __dir__, __all__ = when_used(__name__, __file__)
