"""`steppe replay`: repeats a steered run from its journal alone."""

import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steppe.cli.rank import rank_of_run
from steppe.errors import Exit, FolderError, Mistake, nearest


def replay(
    run: Path,
    /,
    *,
    scenario: Annotated[list[str] | None, Parameter(negative=())] = None,
    output: Path | None = None,
) -> Exit:
    """Repeat a steered run from its journal alone, and compare the state after each command with the recorded one.

    Each scenario is computed in one go from the first step, without crashes, rewinds or pauses. Exit code 0: every bit is the same;
    1: a bit differs; the message names the first command after which one differs. A server may serve the run meanwhile.

    Examples:

        steppe replay runs/queensland
        steppe replay runs/queensland --scenario main --output runs/again

    Parameters
    ----------
    run
        The run folder, or the journal in it.
    scenario
        Replay only this scenario. May be given several times.
    output
        Keep the results, a run folder for each scenario, in this folder.
    """
    from steppe.control.orders import JOURNAL

    if not run.exists():
        raise FolderError(f'There is no run "{run}". Give the folder of a run that was served, or the journal in it.')
    folder = run if run.is_dir() else run.parent
    if run.is_dir() and not (run / JOURNAL).is_file():
        log = run / "log.jsonl"
        script = f' Changes of scripts are in "{log}": `steppe info` counts them, the script repeats them.' if log.is_file() else ""
        raise Mistake(f'There is no journal "{run / JOURNAL}": only a run that was served can be replayed.{script}')
    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise FolderError(f'"{output}" is not empty. Choose another folder for the output.')
    with rank_of_run() as rank, ExitStack() as rest:
        from steppe.control.server.journal import Journal
        from steppe.engine import Ranks
        from steppe.jobs.replay import replay as repeat
        from steppe.jobs.replay import scenarios_of

        journal = rest.enter_context(closing(Journal.snapshot(run if run.is_file() else folder / JOURNAL)))
        found = {branch.name: branch for branch in journal.branches()}
        asked = scenario if scenario is not None else [branch.name for branch in scenarios_of(journal)]
        for name in asked:
            if name not in found:
                raise Mistake(f'The run has no scenario "{name}".{nearest(name, found)}')
        differs, ranks = "", Ranks(rank.world, where=rank.where)
        aside = rest.enter_context(tempfile.TemporaryDirectory(prefix="steppe-replay-"))
        for name in asked:
            place = (output if output is not None else Path(aside)) / name
            done = repeat(folder, journal, found[name], place, ranks)
            differs = differs or done.differs
            tail = done.differs or f"digest {done.digest & (1 << 64) - 1:016x}"
            sys.stdout.write(f"{name}: branch {done.branch}, {done.step} steps, {done.actions} changes, {tail}\n")
    return Exit.FAILURE if differs else Exit.DONE
