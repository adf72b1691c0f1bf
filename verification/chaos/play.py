"""One run under chaos, from its first engine to the end of its server, and all that is checked of it."""

import json
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from steppe.comm import find_library, find_mpiexec
from steppe.control import Position
from steppe.control.server.journal import Journal
from steppe.jobs.replay import scenarios_of
from verification.chaos.clients import Observer, Ordering, Visitor
from verification.chaos.history import foreign, gaps, kept, lost, strayed, unordered
from verification.chaos.network import BadNetwork
from verification.chaos.trouble import MARK, Disk, Kills, Sampling, kill_all, vanished
from verification.chaos.twin import twin_of
from verification.kill.checker import check_journal, check_states, gathered, rest, state_of, waiting
from verification.kill.served import PATIENCE, Client, Served

CLIENTS, VIEWERS, OBSERVERS = 8, 12, 3
HOUR = 3600.0
GROWTH = {
    True: (1.05, 8),
    False: (1.3, 64),
}  # whether an hour is played -> memory times so much, so many more descriptors: scenarios come and go
# less than an hour: kernels and libraries are still being loaded, and branches opened, of which an engine may keep 64 open
LEFT, RECENT = 3, 60  # scenarios that were left of which states are compared, of so many branches that were made last
LEAVING = 15.0  # [s] for all processes to end behind their server

Measured = Callable[[str, str, float, str], None]


class Table:
    """Rows of measured beside expected. Those that do not hold are told together, at the end."""

    def __init__(self, case: str, measured: Measured) -> None:
        self._case, self._measured = case, measured
        self._broken: list[str] = []

    def note(self, what: str, value: float) -> None:
        """A row of which nothing is expected."""
        self._measured(self._case, what, value, "")

    def holds(self, what: str, value: float, expected: str, holds: bool, why: str = "") -> None:
        """A row that must hold. why: more of what does not."""
        self._measured(self._case, what, value, expected)
        if not holds:
            self._broken.append(f"{what}: {value:g}, expected {expected}. {why}")

    def none(self, what: str, found: list[str]) -> None:
        """A row that counts what must not be."""
        self.holds(what, len(found), "0", not found, "".join(f"\n    {each[:1000]}" for each in found[:5]))

    def end(self) -> None:
        """Fails where a row does not hold."""
        assert not self._broken, "\n".join(self._broken)


class Play:
    """What is played, for some seconds. run_file: of the run; aside: a folder for batch twins and replays."""

    def __init__(self, run_file: Path, aside: Path, seed: int, seconds: float, table: Table) -> None:
        self._run_file, self._folder, self._aside = run_file, run_file.parent / "out", aside
        self._seed, self._seconds, self._table = seed, seconds, table
        self._mark = str(run_file.parent)

    def run(self, ranks: int, victims: tuple[str, ...], disk: Disk | None = None) -> None:
        """Plays and checks. ranks: of the engine; victims: the kinds of processes that are killed; disk: what fills up and is freed."""
        launcher = " ".join([*find_mpiexec(find_library()), "-n", str(ranks)])
        served = Served(self._run_file, "--many", "--launcher", launcher, environment={MARK: self._mark})
        try:
            admin = Client(served, "admin")
            admin.until(lambda info: info["steps"] is not None, "the first engine")
            with BadNetwork(served.port, self._seed) as network:
                self._play(served, admin, network, victims, disk)
            self._check_history()
            self._check_states(admin)
            self._check_growth()
            self._check_end(served)
        finally:
            served.abandon()
            kill_all(self._mark)
        self._table.end()

    def _play(self, served: Served, admin: Client, network: BadNetwork, victims: tuple[str, ...], disk: Disk | None) -> None:
        address = served.address.replace(f":{served.port}/", f":{network.port}/")
        self._sampling, kills = Sampling(self._mark), Kills(self._mark, self._seed, victims)
        until = time.monotonic() + self._seconds
        steps = admin.info()["steps"]
        self._clients = [Ordering(served, number, self._seed, steps, address, until) for number in range(CLIENTS)]
        self._observers = [Observer(Client(served, "view", address), f"{self._seed} observer {number}") for number in range(OBSERVERS)]
        viewers = [Visitor(served, address, f"{self._seed} viewer {number}") for number in range(VIEWERS)]
        threads = [threading.Thread(target=each.run, daemon=True) for each in self._clients]
        plays = [self._sampling, *self._observers, kills, *([disk] if disk else [])]
        threads += [threading.Thread(target=each.play, args=(until,), daemon=True) for each in plays]
        served.under_fire = True
        for each in threads:
            each.start()
        failed = self._wait(admin, threads)
        for each in viewers:
            each.close()
        for each in viewers:
            each.join()
        late = time.monotonic() - until
        self._table.holds("seconds until the last client had its answer", late, f"< {PATIENCE:g}", late < PATIENCE)
        served.under_fire = False
        for victim in victims:
            self._table.note(f"kill -9 of {victim}", kills.counts[victim])
        for what in ("requests", "cut", "sent twice", "live sockets cut"):
            self._table.note(f"proxy: {what}", network.counts[what])
        if disk:
            self._table.note("times that the disk was full", disk.count)
            self._table.note("scenarios that were seen failed meanwhile", failed)
        self._table.note("frames that viewers saw", sum(each.count for each in viewers))
        self._pending(admin)

    def _wait(self, admin: Client, threads: list[threading.Thread]) -> int:
        """Waits for threads, and starts the engine where it gave up, as its owner would; how many branches were seen failed."""
        failed = set[int]()
        while any(each.is_alive() for each in threads):
            info = admin.info()
            failed |= {each["branch"] for each in info["scenarios"] if each["state"] == "failed"}
            if info["state"] == "failed":
                admin.ask("POST", "/start", {}, "start", insist=False)
            time.sleep(0.5)
        return len(failed)

    def _pending(self, admin: Client) -> None:
        """Waits until nothing is to be done any more."""
        begin = time.monotonic()
        try:
            rest(admin, self._folder)
            left = []
        except AssertionError as error:
            left = [*waiting(self._folder), str(error)]
        self._table.note("seconds until nothing was pending", time.monotonic() - begin)
        self._table.none("pending at the end", left)

    def _check_history(self) -> None:
        journal, table, clients = Journal.snapshot(self._folder / "journal.sqlite"), self._table, self._clients
        accepted, refused = gathered(clients)
        commands = kept(journal)
        table.note("orders acknowledged", len(accepted))
        table.note("orders refused", len(refused))
        table.note("orders refused, of these by 507", sum(code == "disk-full" for code in refused.values()))
        table.note("tries again", sum(each.client.retries for each in clients))
        table.none("acknowledged, and not once in the journal with their arguments", lost(commands, clients))
        table.none("in the journal, and refused, done twice or never acknowledged", foreign(commands, clients))
        table.none("acknowledged in another order than the journal's", unordered(clients))
        table.note("logs read by observers", sum(each.reads for each in self._observers))
        table.none("read by observers, and not so in the final log", strayed(commands, self._observers))
        table.none("gaps in a log", gaps([*journal.commands()], self._observers))
        try:
            check_journal(journal, {each.key: each.seq for each in commands}, refused)
        except AssertionError as error:
            table.none("outcomes that no order explains", [str(error)])

    def _check_states(self, admin: Client) -> None:
        journal = Journal.snapshot(self._folder / "journal.sqlite")
        scenarios = scenarios_of(journal)
        left = [each for each in journal.branches()[-RECENT:] if each not in scenarios]
        left.sort(key=lambda each: len(journal.placed(each.id, Position(-1, -1))))
        differ, most, begin = [], 0, time.monotonic()
        for branch in (*scenarios, *left[-LEFT:]):
            try:
                shown = state_of(admin, branch)
                values, changes = twin_of(self._folder, journal, branch, self._aside / f"twin-{branch.id}")
                most = max(most, changes)
                differ += [f"{name} of {branch.name} at step {branch.shown_step}" for name in values if values[name] != shown[name]]
            except AssertionError as error:
                differ.append(f"{branch.name} has no state: {error}")
        self._table.note("scenarios at the end", len(scenarios))
        self._table.note("beside them, of those that were left, the ones with most changes", len(left[-LEFT:]))
        self._table.note("seconds of their batch twins", time.monotonic() - begin)
        self._table.note("changes of the scenario that has most", most)
        self._table.none("states that are not bit-equal to their batch twin", differ)
        try:
            check_states(admin, self._folder, self._aside / "replayed")
            differ = []
        except AssertionError as error:
            differ = [str(error)]
        self._table.none("states that are not bit-equal to `steppe replay`", differ)

    def _check_growth(self) -> None:
        """Of memory and descriptors, between the second sixth of the time and the last one: of an hour what the last 50 minutes add."""
        times, more = GROWTH[self._seconds >= HOUR]
        for kind in ("server", "engine", "rank"):
            first, last = (value / 1e6 for value in self._sampling.medians(kind, "memory", self._seconds))
            if first:
                self._table.note(f"{kind}: MB in memory, in the second sixth of the time", first)
                self._table.holds(f"{kind}: MB in memory, in the last sixth", last, f"<= {times:g} times that", last <= times * first)
                first, last = self._sampling.medians(kind, "files", self._seconds)
                self._table.note(f"{kind}: descriptors, in the second sixth of the time", first)
                self._table.holds(f"{kind}: descriptors, in the last sixth", last, f"<= {more} more", last <= first + more)

    def _check_end(self, served: Served) -> None:
        door = json.loads((self._folder / "door.json").read_text())["address"]
        served.close(signal.SIGTERM)
        self._table.holds("exit code of the server after SIGTERM", served.process.returncode, "0", served.process.returncode == 0)
        self._table.none("processes left after SIGTERM", [str(each) for each in vanished(self._mark, LEAVING)])
        self._table.none("sockets left after SIGTERM", [door] if Path(door).exists() else [])
        segments = [str(each) for each in self._sampling.segments if each.exists()]
        self._table.none(f"segments of /dev/shm left, of {len(self._sampling.segments)} that were used", segments)
