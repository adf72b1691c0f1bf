"""The sites of a run that the bridge has joined, and which of their ranks see the run folder.

    rank 0    makes an empty file in the run folder
    others    look for it there ── seen: they use the paths of rank 0
                               └── not seen: their own command line names their copies of the run file and of its inputs

Ranks that do not see the run folder write nothing: other ranks write their results, and read checkpoints for them.
"""

import io
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steppe.comm import Sites, World, agreed, of_all
from steppe.engine.plan import Plan
from steppe.engine.run_file import RunFile
from steppe.engine.site_inputs import SiteInputs, check_same
from steppe.errors import Mistake, SteppeError
from steppe.files import writing
from steppe.io import ForcingStore, described, place_described
from steppe.kernels import cache_folder

WEATHER = "forcing.store"  # the input that a site may lack


class OwnFiles(NamedTuple):
    """How a rank comes to the run file of its own command line, and says a sentence at its site."""

    read: Callable[[], RunFile]
    tell: Callable[[str], object]


@dataclass(frozen=True)
class RunSites:
    """The sites of a run. writing: ranks that see the run folder; reading: ranks that have the weather; () for all. note: for the user."""

    writing: tuple[int, ...] = ()
    reading: tuple[int, ...] = ()
    note: str = ""


ALL_ALIKE = RunSites()


@contextmanager
def looked_for(folder: Path) -> Iterator[Path]:
    """An empty file of a new name in a folder, or in the nearest folder above that is there; removed at the end."""
    while not folder.is_dir():
        folder = folder.parent
    path = folder / f"steppe-site-{secrets.token_hex(8)}.tmp"
    with writing(path):
        path.touch(exist_ok=False)
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink()


def meet(world: World, sites: Sites, run: RunFile, look: Path, own: OwnFiles | None = None) -> tuple[RunFile, RunSites]:
    """The run file of this rank, and which ranks write and read for the others. Every rank calls it.

    run: of rank 0. look: the file of `looked_for`. own: of ranks other than 0.

    Raises
    ------
    Mistake
        A site computes another run than the first, or lacks a file; the same on every rank.
    """
    sees = of_all(world, [look.exists()])[:, 0]
    blind = [site for site in range(1, len(sites.names)) if not all(sees[rank] for rank in sites.ranks(site))]
    writing = tuple(rank for rank in range(world.size) if sites.of[rank] not in blind)
    note = f"Sites: {sites}."
    if not blind:
        return run, RunSites(note=note)
    mates = list(writing) if world.rank in writing else sites.ranks(sites.of[world.rank])
    with agreed(world):
        try:
            if world.rank not in writing:
                assert own is not None, "rank 0 sees its own folder"
                run = own.read()
            inputs = SiteInputs.of(run, mates.index(world.rank), len(mates))
        except SteppeError as found:
            where = "" if world.rank in writing else f'Site "{sites.names[sites.of[world.rank]]}" does not see the run folder. '
            raise type(found)(f"{where}{found}") from None
    lacking = _compared(world, sites, writing, blind, inputs)
    note += f" Without the run folder: {_named(sites, blind)}; other ranks write the results."
    reading = tuple(rank for rank in range(world.size) if sites.of[rank] not in lacking) if lacking else ()
    if lacking:
        note += f" Without the weather: {_named(sites, sorted(lacking))}; other ranks read it."
        run = _with_weather(world, run, world.rank not in reading)
    return run, RunSites(writing, reading, note)


def check_identity(plan: Plan, identity: Mapping[str, str], site: str) -> None:
    """Checks that the plan of a site with its own files is that of rank 0, which has this identity.

    Raises
    ------
    Mistake
        It is another run: of another version of a model, or with other numbers in a store.
    """
    for name, value in plan.identity.items():
        if name != "made_of" and identity.get(name) != value:  # which may be a path
            raise Mistake(f'Site "{site}" would compute another run: its {name} is "{value}", and that of rank 0 "{identity.get(name)}".')


def _named(sites: Sites, some: Sequence[int]) -> str:
    return ", ".join(f'"{sites.names[site]}"' for site in some)


def _compared(world: World, sites: Sites, writing: Sequence[int], blind: Sequence[int], inputs: SiteInputs) -> set[int]:
    """Compares the inputs of all sites on rank 0; returns the sites that lack the weather."""
    told = world.gather(np.frombuffer(json.dumps(asdict(inputs)).encode(), np.uint8))
    lacking = np.zeros(len(sites.names), np.int64)
    with agreed(world):
        parts = [SiteInputs(**json.loads(part.tobytes())) for part in told or ()]
        ours = SiteInputs.of_parts([parts[rank] for rank in writing]) if parts else SiteInputs()
        for site in blind if parts else ():
            theirs = SiteInputs.of_parts([parts[rank] for rank in sites.ranks(site)])
            check_same(sites.names[0], ours, sites.names[site], theirs, may_lack=WEATHER)
            lacking[site] = bool(ours.files.get(WEATHER)) and not theirs.files[WEATHER]
    world.broadcast(lacking)
    return {int(site) for site in np.flatnonzero(lacking)}


def _with_weather(world: World, run: RunFile, lacks: bool) -> RunFile:
    """The run with the descriptions of the weather in the cache, on a rank that `lacks` it. Every rank calls it."""
    assert run.forcing, "its store is what a site lacks"
    files = described(ForcingStore.open(run.forcing.store)) if world.rank == 0 and run.forcing.store else {}
    lengths = json.loads(_from_rank_0(world, json.dumps({name: len(content) for name, content in files.items()}).encode()))
    content = io.BytesIO(_from_rank_0(world, b"".join(files.values())))
    if not lacks:
        return run
    path = place_described({name: content.read(length) for name, length in lengths.items()}, cache_folder().parent / "forcing")
    grid = run.grid
    if grid and grid.file == run.forcing.store:
        grid = grid.model_copy(update={"file": path})
    return run.model_copy(update={"grid": grid, "forcing": run.forcing.model_copy(update={"store": path})})


def _from_rank_0(world: World, given: bytes) -> bytes:
    length = np.array([len(given)])
    world.broadcast(length)
    content = np.resize(np.frombuffer(given, np.uint8), int(length[0]))
    world.broadcast(content)
    return content.tobytes()
