"""The common part of all measurements: the clock and its cost, the machine, the places of ranks, passes over all series."""
