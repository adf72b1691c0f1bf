"""What it costs a batch run to be served: the same run by the command and by a server that nobody else asks, each on its own processor."""

import json
import signal
import subprocess
import sys
import time

import httpx

from benchmarks.figures import Figure
from benchmarks.queensland import FOLDER, STEPPE, new_output, run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, output, ratio

ENGINE, SERVER = 1, 0  # processors
YEARS = 20


def figures(quick: bool) -> list[Figure]:
    """Wall time from the order to the last durable byte, on one thread of one processor; loading and compiling are not of it."""
    run = run_file(1 if quick else YEARS)

    def alone() -> float:
        command = ["taskset", "-c", str(ENGINE), STEPPE, "run", str(run), "--output", str(new_output()), "--json"]
        return float(json.loads(output(command))["seconds"])

    def served() -> float:
        tokens = FOLDER / "tokens"
        tokens.write_text("steer a-token-of-a-benchmark\n")
        command = ["taskset", "-c", str(SERVER), STEPPE, "serve", str(run), "--bind", "127.0.0.1:0", "--token-file", str(tokens)]
        more = ["--set", f"output.path={json.dumps(str(new_output() / 'batch'))}", "--launcher", f"taskset -c {ENGINE}"]
        with subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=sys.stderr, text=True) as server:
            assert server.stdout
            address = server.stdout.readline().split()[-1]
            try:
                return _step_to_the_end(address)
            finally:
                server.send_signal(signal.SIGTERM)

    samples = alternate({"alone": alone, "served": served}, QUICK_ROUNDS if quick else ROUNDS)
    found = ratio(samples["served"], samples["alone"])
    return [Figure("a run that is served / the same alone", found.value, "x", at_most=1.03, note=found.spread, samples=samples)]


def _step_to_the_end(address: str) -> float:
    headers = {"Authorization": "Bearer a-token-of-a-benchmark"}
    run = f"{address}api/v1/runs/batch"
    with httpx.Client(headers=headers, timeout=30) as client:

        def state() -> str:
            return str(client.get(run).json()["state"])

        while state() != "ready":
            time.sleep(0.05)
        begin = time.perf_counter()
        client.post(f"{run}/step", json={"end": True}, headers={"Idempotency-Key": "end"}).raise_for_status()
        while state() != "finished":
            time.sleep(0.02)
        return time.perf_counter() - begin
