"""Air chemistry: species that react, and what moves them.

reader, plain_file, openatmos_file    a mechanism from a file
mechanism, rates, formulas            its table; its rates in many cells
program, rosenbrock, lanes, chemistry the solver: tables, one step, many cells with steps of their own
conditions, box                       one cell through hours and days: `steppe box`
advection, sweeps, diffusion          transport in the air: by the wind, and up and down between the ground and the free air
"""
