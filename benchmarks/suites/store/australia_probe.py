"""One run in a process of its own; prints JSON: seconds by the clock and of CPU, bytes at the peak, seconds of waiting."""

import json
import sys
import time

from benchmarks.programs.memory_probe import memory
from steppe.engine import Plan, Simulation, estimate, read_run_file


def main(run_file: str) -> None:
    begin = time.perf_counter()
    with Simulation(Plan.of(read_run_file(run_file)), fresh=True) as simulation:
        simulation.step(1)
        start = time.perf_counter() - begin
        begin, cpu = time.perf_counter(), time.process_time()
        simulation.run()
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        share = simulation.steps / (simulation.steps - 1)
        assert simulation.reading is not None
        found = {"start": start, "wall": wall * share, "cpu": cpu * share, "stall": simulation.reading.stall_seconds}
    peak = memory("VmHWM")
    found |= {"peak": peak, "announced": estimate(Plan.of(read_run_file(run_file))).memory}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
