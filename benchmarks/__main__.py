"""The command behind `scripts/bench`."""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, MissingPeer, table
from benchmarks.machine import describe
from benchmarks.queensland import remove_outputs

SUITES = {
    "pasture": "benchmarks.suites.pasture.suite",
    "loop": "benchmarks.suites.loop",
    "shares": "benchmarks.suites.shares",
    "sums": "benchmarks.suites.sums",
    "store": "benchmarks.suites.store.suite",
    "spread": "benchmarks.suites.spread",
    "startup": "benchmarks.suites.startup",
    "ranks": "benchmarks.suites.ranks",
    "cold": "benchmarks.suites.cold",
    "memory": "benchmarks.suites.memory",
    "generator": "benchmarks.suites.generator",
    "arrays": "benchmarks.suites.arrays",
    "exchange": "benchmarks.suites.exchange",
    "messages": "benchmarks.suites.messages.suite",
    "fields": "benchmarks.suites.fields",
    "restore": "benchmarks.suites.restore",
    "server": "benchmarks.suites.server",
    "live": "benchmarks.suites.live",
    "image": "benchmarks.suites.image",
    "film": "benchmarks.suites.film",
    "batch": "benchmarks.suites.batch",
    "calibrate": "benchmarks.suites.calibrate",
    "kernels": "benchmarks.suites.kernels",
    "donio": "benchmarks.suites.donio",
    "transport": "benchmarks.suites.transport",
    "air": "benchmarks.suites.air",
    "bridge": "benchmarks.bridge",
}


def main(arguments: list[str]) -> int:
    """Runs suites; 0 when every figure meets its target, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Steppe beside its peers; every figure beside its target.")
    parser.add_argument("suite", nargs="*", metavar="SUITE", help=f"some of {', '.join(SUITES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer rounds of less work: shows that it runs, judges nothing for sure")
    parser.add_argument("--json", type=Path, metavar="FILE", help="machine, figures and all samples")
    parser.add_argument("--osu", type=Path, metavar="FOLDER", help="messages: a build of the OSU micro-benchmarks to compare with, too")
    parser.add_argument("--imb", type=Path, metavar="FOLDER", help="messages: a build of the Intel MPI Benchmarks to compare with, too")
    parser.add_argument("--kpp", type=Path, metavar="FOLDER", help="air: a build of KPP 3.5 (bin/kpp), to compare with")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.suite if name not in SUITES]
    if unknown:
        parser.error(f'There is no suite "{unknown[0]}". Choose among {", ".join(SUITES)}.')
    machine = describe()
    print("  ".join(f"{name} {value}" for name, value in machine.items()))
    found: dict[str, list[Figure]] = {}
    failures: dict[str, str] = {}
    try:
        for name in given.suite or SUITES:
            print(f"\n{name}", flush=True)
            try:
                more = {"messages": {"osu": given.osu, "imb": given.imb}, "air": {"kpp": given.kpp}}.get(name, {})
                found[name] = importlib.import_module(SUITES[name]).figures(given.quick, **more)
                print(table(found[name]), flush=True)
            except MissingPeer as missing:
                failures[name] = str(missing)
                print(f"FAIL  {missing}", flush=True)
    finally:
        remove_outputs()
    if given.json:
        given.json.write_text(json.dumps(_report(machine, found, failures, given.quick), indent=1) + "\n")
    missed = [figure.name for suite in found.values() for figure in suite if not figure.passed]
    said = [f"{'; '.join(missed)} missed."] if missed else []
    said += [f"Not measured: {', '.join(failures)}."] if failures else []
    print(f"\n{' '.join(said) or 'Every target is met.'}")
    return 1 if missed or failures else 0


def _report(machine: dict[str, Any], found: dict[str, list[Figure]], failures: dict[str, str], quick: bool) -> dict[str, Any]:
    suites = {name: [figure.as_dict() for figure in suite] for name, suite in found.items()}
    return {"machine": machine, "quick": quick, "suites": suites, "failures": failures}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
