"""How fast Steppe is beside what people would use or write instead. `scripts/bench` measures, prints and judges.

    pasture   the kernel beside the same model by hand in C++ and in NumPy, and beside aquacrop-grid
    loop      a whole run, with reading and writing, beside the kernel alone
    startup   from the command to the first step, beside the imports that it cannot do without
    memory    peak of a run beside the sum of its buffers

Rule: both in one process or both as processes, in alternation, on the same data and machine; medians of at least seven rounds. Kernels
are measured in CPU time of one pinned thread, which other work on the machine hardly changes. A missing peer is a failure.
"""
