"""`steppe measure kernels`."""

from pathlib import Path
from typing import Literal

from steppe.cli.measuring import Passes, Targets, is_stopped, refuse_ranks
from steppe.errors import Exit


def kernels(
    *,
    quick: bool = False,
    passes: Passes = None,
    cells: float | None = None,
    cell_bytes: float | None = None,
    cell_flops: float | None = None,
    cell_real: Literal["float32", "float64"] = "float64",
    json: Path | None = None,
    html: Path | None = None,
) -> Exit:
    """Measure processor and memory: streams, random reads, multiply-add, the functions of models; on one core, then on all.

    --cells, --cell-bytes and --cell-flops together give the rate of a model, which is compared with the limits of memory and arithmetic.

    Examples:

        steppe measure kernels --quick
        steppe measure kernels --json processor.json
        steppe measure kernels --cells 41e6 --cell-bytes 120 --cell-flops 900 \\
            --cell-real float32

    Parameters
    ----------
    quick
        Fewer blocks: under a minute.
    passes
        Passes over all series, 5 by default. Fewer take less time and leave wider intervals.
    cells
        Cells a second that a model computes on all these cores.
    cell_bytes
        Bytes that a cell moves between memory and processor, in and out.
    cell_flops
        Additions and multiplications of a cell.
    cell_real
        Type of their numbers: float32 or float64, the default.
    json
        Write all samples and the machine to this file.
    html
        Write a report with pictures to this file.
    """
    from steppe.cli.making import CountBar
    from steppe.comm import find_launch, keep_stops
    from steppe.measure import check_cell, measure_processor, rates_text

    launch = find_launch()
    if launch is not None:
        return refuse_ranks(launch, "Kernels are measured by one process, on one core and then on all. Leave out mpiexec.")
    cell = check_cell(cells, cell_bytes, cell_flops, cell_real)
    targets = Targets(json, html)
    keep_stops()
    with CountBar("kernels") as tell:
        document = measure_processor(cell, quick, tell, is_stopped, passes)
    return targets.finish(document, rates_text(document))
