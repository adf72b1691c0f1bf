"""What it costs a batch run to be served: the same run by the command and by a server. The engine has a processor for itself."""

import json
import os
import signal
import subprocess
import sys
import time

import steppe
from benchmarks.figures import Figure
from benchmarks.queensland import FOLDER, STEPPE, new_output, run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, output, ratio

ENGINE, SERVER = 1, 0  # processors; who orders the run is on that of the server
YEARS = 60  # a few seconds, so that beginning and end do not decide


def figures(quick: bool) -> list[Figure]:
    """Wall time from the order to the last durable byte, on one thread of one processor; loading and compiling are not of it."""
    run = run_file(1 if quick else YEARS)

    def alone() -> float:
        command = ["taskset", "-c", str(ENGINE), STEPPE, "run", str(run), "--output", str(new_output()), "--json"]
        return float(json.loads(output(command))["seconds"])

    def served() -> float:
        tokens = FOLDER / "tokens"
        tokens.write_text("steer a-token-of-a-benchmark\n")
        tokens.chmod(0o600)
        command = ["taskset", "-c", str(SERVER), STEPPE, "serve", str(run), "--bind", "127.0.0.1:0", "--token-file", str(tokens)]
        more = ["--set", f"output.path={json.dumps(str(new_output() / 'batch'))}", "--launcher", f"taskset -c {ENGINE}"]
        with subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=sys.stderr, text=True) as server:
            assert server.stdout
            address, allowed = server.stdout.readline().split()[-1], os.sched_getaffinity(0)
            os.sched_setaffinity(0, {SERVER})
            try:
                return _to_the_end(address)
            finally:
                os.sched_setaffinity(0, allowed)
                server.send_signal(signal.SIGTERM)

    samples = alternate({"alone": alone, "served": served}, QUICK_ROUNDS if quick else ROUNDS)
    found = ratio(samples["served"], samples["alone"])
    return [Figure("a run that is served / the same alone", found.value, "x", at_most=1.03, note=found.spread, samples=samples)]


def _to_the_end(address: str) -> float:
    """Seconds of all steps and of the state after the last one, which is durable then."""
    with steppe.connect(address, "a-token-of-a-benchmark") as run:
        while run.info().state != "ready":
            time.sleep(0.05)
        begin = time.perf_counter()
        run.step(end=True, progress=False)
        run.checkpoint()
        return time.perf_counter() - begin
