"""A measurement as a file keeps it: series with their figures, fits, the clock, the machine."""
