"""The whole measurement of files on ranks: a common folder, every method on p = 1, 2, 4 ... ranks; a `Document` on every rank."""

import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from steppe.comm.launch import find_library
from steppe.comm.raw import Raw
from steppe.comm.team import Team
from steppe.errors import Failure, Mistake
from steppe.measure.files.disk import COLD, MIB, WARM, describe_place, workplace
from steppe.measure.files.rank_output import APART, FIELDS, GATHERED, QUICK_FIELDS, OutputTimes, volume
from steppe.measure.files.ranked import ALONE, BROADCAST, PRIVATE, SHARED, TOGETHER, Ranked
from steppe.measure.records.document import Document, made_now
from steppe.measure.records.measured import Measured
from steppe.measure.timing.machine import Others, describe_library, describe_machine
from steppe.measure.timing.rank_places import crowded, places_of
from steppe.measure.timing.rounds import ROUNDS, Tell, measure_rounds
from steppe.measure.timing.system import steady_ticks

QUICK_FILE, FILE = 16, 64  # [MiB] of the file that all read
QUICK_REQUESTS, REQUESTS = (58_032, MIB), (58_032, 232_128, MIB, 4 * MIB)  # the first: a day's rain of ADVISE (1995)
PRECISION = 0.02
BUDGET, QUICK_BUDGET = 1.5, 0.2  # [s] of a series
Task = Callable[[], list[Measured]]


def numbers_of(ranks: int) -> list[int]:
    """1, 2, 4 ... and all ranks."""
    return sorted({ranks, *(1 << i for i in range(ranks.bit_length()) if 1 << i <= ranks)})


def measure_ranked_files(
    raw: Raw, directory: Path, quick: bool, size: int | None, tell: Tell, stop: Callable[[], bool], passes: int | None = None
) -> Document:
    """Measures files of a directory that all ranks share; every rank calls it. size: of the common file [MiB].

    tell: shows the progress; stop: called between series, rank 0 decides; passes: over all series, `ROUNDS` when None.

    Raises
    ------
    Mistake
        The directory does not exist, cannot be written in, has too little room, or some rank does not share it. On every rank.
    Failure
        The disk or MPI fails.
    """
    length = (size or (QUICK_FILE if quick else FILE)) * MIB
    fields, team = QUICK_FIELDS if quick else FIELDS, Team(raw)
    places = places_of(raw)
    others = Others()
    warnings = crowded(places, oversubscribe=True, library=find_library().name)
    with _common_folder(raw, directory, max(length, volume(fields))) as folder:
        try:
            tasks = _plan(team, folder, quick, length, fields, warnings)
            series, complete = measure_rounds(tasks, PRECISION, tell, lambda: bool(raw.told(float(stop()))), passes or ROUNDS)
        except OSError as error:
            raise Failure(f'Files in "{directory}" cannot be measured by rank {raw.rank}: {error.strerror or error}.') from None
        raw.barrier()
    return Document(
        made=made_now(),
        complete=complete,
        machine={
            **describe_machine(),
            "filesystem": describe_place(directory),
            "mpi": describe_library(raw),
            "ranks": [place.binding for place in places],
        },
        clock=steady_ticks().kept(float(raw.together(np.array([others.share()])).max())),
        warnings=warnings,
        series=series,
    )


@contextmanager
def _common_folder(raw: Raw, directory: Path, largest: int) -> Iterator[Path]:
    """A folder that rank 0 makes and removes, and that all ranks share; its errors are raised on all ranks."""
    with ExitStack() as stack:
        made = raw.on_first(lambda: str(stack.enter_context(workplace(directory, largest))))
        folder = Path(raw.texts(made or "")[0])
        unseen = [text for text in raw.texts("" if folder.is_dir() else f"rank {raw.rank} on {socket.gethostname()}") if text]
        if unseen:
            raise Mistake(
                f'"{directory}" is not the same for all ranks: {unseen[0]} does not see what rank 0 made in it. Give one that all share.'
            )
        try:
            yield folder
        except BaseException:  # the failed rank may end rank 0 before that removes the folder
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _plan(team: Team, folder: Path, quick: bool, length: int, fields: int, warnings: list[str]) -> list[Task]:
    """The tasks of all ranks, in one order; a rank that does not take part has an empty task."""
    budget, tasks = (QUICK_BUDGET if quick else BUDGET) / ROUNDS, list[Task]()
    for p in numbers_of(team.size):
        part = team.first(p)
        for request in QUICK_REQUESTS if quick else REQUESTS:
            ranked = None if part is None else Ranked(part, folder, length, request, budget)
            left = 0 if ranked is None else ranked.prepare()
            left = int(team.raw.told(float(left)))
            if left and not tasks:
                warnings.append(f"Reads could not be made cold: {left} pages of the file stay in memory on this file system.")
            for state in (WARM,) if left else (COLD, WARM):
                for method in (ALONE, TOGETHER, BROADCAST):
                    tasks.append(list if ranked is None else partial(ranked.read, state, method))
            if request == MIB:
                for method in (PRIVATE, SHARED):
                    tasks.append(list if ranked is None else partial(ranked.write, method))
        output = None if part is None else OutputTimes(part, folder, fields, budget)
        for way in (GATHERED, PRIVATE, APART):
            tasks.append(list if output is None else partial(output.measure, way))
    return tasks
