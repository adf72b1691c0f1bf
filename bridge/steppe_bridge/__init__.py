"""Several MPI sites as one machine: `steppe-bridge` starts a gateway and a launch at each site, and ends them together.

    cli ── run ────> one machine starts all sites, by ssh where they are not local
     └──── site ───> a site: its gateway, its launch
             ├── mpi       which MPI the program loads, which launcher starts it, the programs in C
             └── process   processes that do not outlive this one, and what they write

The programs in C are in `native`; `python -m steppe_bridge` is the command.
"""
