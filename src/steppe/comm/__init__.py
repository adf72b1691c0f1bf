"""Ranks and the messages between them: buffers and requests, whatever they contain.

world   the messages of ranks, as a protocol       serial, mpi       one rank; ranks as processes
reach   neighbours for a model with halos          agree             raises an error of one rank on all ranks
node    shared memory of a host                    launch            the launcher, the MPI library, its mpiexec
sites   launches that the bridge has joined
machine_state  free memory, states of processes
raw     MPI by address, for timed loops            rank, wake, fail  the start, the sleep and the end of a rank
objects Python objects by mpi4py, for timings      steppe.testing    ranks as threads, recorded and replayed ranks

Parts are imported when they are used: a process must know that it is a rank before it imports a library that starts threads.
"""

from typing import TYPE_CHECKING

from steppe.lazy import when_used

if TYPE_CHECKING:
    from steppe.comm.agree import agree_on as agree_on
    from steppe.comm.agree import agreed as agreed
    from steppe.comm.fail import RankLocation as RankLocation
    from steppe.comm.fail import last_words as last_words
    from steppe.comm.launch import Launch as Launch
    from steppe.comm.launch import check_ranks as check_ranks
    from steppe.comm.launch import describe_mpi as describe_mpi
    from steppe.comm.launch import find_launch as find_launch
    from steppe.comm.launch import find_library as find_library
    from steppe.comm.launch import find_mpiexec as find_mpiexec
    from steppe.comm.launch import is_bridged as is_bridged
    from steppe.comm.machine_state import container_memory as container_memory
    from steppe.comm.machine_state import free_memory as free_memory
    from steppe.comm.machine_state import host_memory as host_memory
    from steppe.comm.machine_state import process_state as process_state
    from steppe.comm.node import forget as forget
    from steppe.comm.node import nodes as nodes
    from steppe.comm.node import of_all as of_all
    from steppe.comm.node import placed as placed
    from steppe.comm.node import shared as shared
    from steppe.comm.rank import cores_of_rank as cores_of_rank
    from steppe.comm.rank import delayed_interrupt as delayed_interrupt
    from steppe.comm.rank import keep_stops as keep_stops
    from steppe.comm.rank import kept_stops as kept_stops
    from steppe.comm.rank import name_output as name_output
    from steppe.comm.rank import open_world as open_world
    from steppe.comm.rank import prepare_rank as prepare_rank
    from steppe.comm.reach import BoxExchange as BoxExchange
    from steppe.comm.reach import BoxReach as BoxReach
    from steppe.comm.serial import Serial as Serial
    from steppe.comm.sites import Sites as Sites
    from steppe.comm.sites import find_sites as find_sites
    from steppe.comm.sites import site_name as site_name
    from steppe.comm.world import MessageRequest as MessageRequest
    from steppe.comm.world import Operation as Operation
    from steppe.comm.world import World as World

__getattr__, __dir__, __all__ = when_used(__name__, __file__)
