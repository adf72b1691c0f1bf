"""Arrays and files that live in the memory of all ranks; any rank reads and changes any part at any time.

    global_array  gather, scatter, update              layout    pages and their owners, pure arithmetic
    work_queue    tasks shared out                     access    the compiled loops
    ordered       the same bits for any number of ranks
    memory_file   a file in memory                     byte_records, image, disk, far_bytes   its bytes: which, in memory, elsewhere
    reading       a store of other hosts' pages        far, serving, site   requests between hosts, and ranks that are late
    element_inputs   NumPy's indices, checks                for_models  what a model is handed

After DOLIB and DONIO (D'Azevedo and Romine 1994), on the shared memory of a host.
"""

from typing import TYPE_CHECKING

from steppe.lazy import when_used

if TYPE_CHECKING:
    from steppe.arrays.far import Traffic as Traffic
    from steppe.arrays.for_models import ModelArrays as ModelArrays
    from steppe.arrays.for_models import counts_text as counts_text
    from steppe.arrays.global_array import GlobalArray as GlobalArray
    from steppe.arrays.layout import PageLayout as PageLayout
    from steppe.arrays.memory_file import MemoryFile as MemoryFile
    from steppe.arrays.work_queue import WorkQueue as WorkQueue
    from steppe.comm.rank import open_world as open_world

__getattr__, __dir__, __all__ = when_used(__name__, __file__)
