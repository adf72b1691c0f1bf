"""`steppe run`: runs a run file."""

import json as json_format
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from steppe.cli.compiling import compiling_is_said
from steppe.cli.control import supervised
from steppe.cli.progress import progress
from steppe.cli.rank import rank_of_run
from steppe.cli.stop import Stop
from steppe.cli.timeline import check_timeline, write_timeline
from steppe.errors import Exit, Mistake, RunFileError, SteppeError

if TYPE_CHECKING:
    from steppe.engine import Plan, Ranks, RunFile
    from steppe.jobs.report import Summary

Shows = Literal["all", "json", "warnings"]  # progress and summary; the summary alone, as JSON; neither


def run(
    run_file: Path,
    /,
    *,
    until: Annotated[str | None, Parameter(metavar="DATE")] = None,
    output: Path | None = None,
    set: Annotated[list[str] | None, Parameter(metavar="KEY=VALUE")] = None,
    threads: int | None = None,
    ranks: int | None = None,
    timeline: Path | None = None,
    fresh: bool = False,
    quiet: bool = False,
    json: bool = False,
    show_config: bool = False,
) -> Exit:
    """Run a run file, or continue it.

    An unfinished run continues from its newest checkpoint; a finished one prints its summary.
    Ctrl-C finishes the days in work, writes a checkpoint and ends; the same command continues.

    Examples:

        steppe run queensland.toml
        steppe run queensland.toml --until 1995-12-31
        steppe run queensland.toml --ranks 4
        steppe run queensland.toml --set parameters.stocking_rate=0.2 \\
            --output more-stock

    Parameters
    ----------
    run_file
        The run file (TOML).
    until
        Last day to compute in this call, as 1995-12-31.
    output
        The run folder, instead of the run file's.
    set
        Another value for a key of the run file, with dots for tables. May be given several times.
    threads
        Threads of each process, instead of the run file's or all cores.
    ranks
        Processes that share the cells; their results are the same. `mpiexec -n 4 steppe run ...` starts them too.
    timeline
        Write a timeline of each thread of each rank: a picture (.png), or a trace for ui.perfetto.dev (.json).
    fresh
        Remove the results of this or another run from the run folder, and start again.
    quiet
        No progress, no summary; only warnings.
    json
        The summary as JSON on standard output, no progress.
    show_config
        Print the run file with every default, and stop.
    """
    if ranks is not None:
        from steppe.cli.ranks import start_ranks

        options = {"until": until, "output": output, "set": set, "threads": threads, "timeline": timeline}
        again = arguments_of("run", run_file, **options, fresh=fresh, quiet=quiet, json=json)
        if not show_config and (done := start_ranks(again, ranks)) is not None:
            return done
    failure = None
    with rank_of_run() as rank:
        from steppe.engine import Plan, Ranks

        with Stop(says=not supervised()) as stop:
            all_ranks = Ranks(rank.world, stop, rank.where, rank.sites)
            try:
                whole = read_with(run_file, set, output, threads)
                if show_config:
                    sys.stdout.write(whole.as_toml())
                    code = Exit.DONE
                else:
                    shows: Shows = "json" if json else "warnings" if quiet else "all"
                    code = _run(Plan.of(whole, cores=rank.cores), all_ranks, stop, until=until, timeline=timeline, fresh=fresh, shows=shows)
            except SteppeError as error:
                failure, code = error, error.exit_code
    if failure:
        raise failure
    return code


def own_run_file(words: list[str]) -> "RunFile":
    """Reads the run file that the words of `steppe run` name, with their changes, for a site with files of its own.

    Raises
    ------
    Mistake
        The command is another one, or the run file cannot be read.
    """
    from cyclopts import CycloptsError

    from steppe.cli.app import app

    words = [word for word in words if word != "--debug"]
    line = " ".join(["steppe", *words])
    try:
        _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise Mistake(f"`{line}`: {error}") from None
    if words[:1] != ["run"]:
        raise Mistake(f"`{line}` names no run file. Start `steppe run RUN_FILE` at that site.")
    given = {name: bound.arguments.get(name) for name in ("set", "output", "threads")}
    return read_with(bound.arguments["run_file"], **given)


def read_with(run_file: Path, set: list[str] | None, output: Path | None, threads: int | None = None) -> "RunFile":
    """The run file with the changes of a command line."""
    from steppe.engine import read_run_file

    changes = changes_of(set)
    if output is not None:
        changes["output.path"] = json_format.dumps(str(output.absolute()), ensure_ascii=False)  # a TOML string is escaped as one of JSON
    if threads is not None:
        changes["engine.threads"] = str(threads)
    return read_run_file(run_file, changes)


def _run(plan: "Plan", all_ranks: "Ranks", stop: Stop, *, until: str | None, timeline: Path | None, fresh: bool, shows: Shows) -> Exit:
    """Runs the plan, on rank 0 or in the only process."""
    from steppe.engine import Event, Simulation
    from steppe.jobs.report import summary

    end = plan.steps if until is None else plan.step_after(until)  # a mistake in it is found before the folder is touched
    if timeline is not None:
        check_timeline(timeline)
    show = progress(plan.grid.n_cells, plan.clock.unit, shows != "all")
    with show as tell, Simulation(plan, fresh=fresh, on_event=tell, ranks=all_ranks) as simulation:
        was_there, reached = simulation.step_index >= end, True
        step, date = simulation.step_index, simulation.date
        with compiling_is_said(lambda text: tell(Event("compiling", text, step, simulation.steps, date))):
            if timeline is not None:
                simulation.watch()
            if not was_there:
                reached = simulation.run(until, stop)
            if timeline is not None:
                write_timeline(timeline, f"{plan.model.name} on {all_ranks.world.size} ranks", simulation.timeline())
    if shows != "warnings":
        _report(summary(simulation), shows == "json")
    if not reached or ((stop.asked or all_ranks.consensus.stop) and not simulation.finished):
        sys.stderr.write(f"Stopped before {simulation.date} with a checkpoint. The same command continues.\n")
        return Exit.STOPPED
    if was_there and shows != "warnings":
        last = plan.clock.name(simulation.step_index - 1)
        done = "complete; --fresh runs it again" if simulation.finished else f"computed up to {last} already"
        sys.stderr.write(f"The run is {done}.\n")
    return Exit.DONE


def arguments_of(command: str, *words: Path, **options: object) -> list[str]:
    """The command line of `steppe run`, or of another command, with these options."""
    found = [command, *map(str, words)]
    for name, value in options.items():
        if value is True:
            found.append(f"--{name}")
        elif value is not None and value is not False:  # 0 is a value, and equals False
            found += [text for one in (value if isinstance(value, list) else [value]) for text in (f"--{name}", str(one))]
    return found + (["--debug"] if "--debug" in sys.argv else [])


def changes_of(texts: list[str] | None) -> dict[str, str]:
    """Dotted key -> value of `--set` options."""
    found: dict[str, str] = {}
    for key, value in map(_change, texts or []):
        if key in found:
            raise RunFileError(f"--set gives {key} twice, {found[key]} and {value}. Keep one.")
        found[key] = value
    return found


def _change(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise RunFileError(f'--set "{text}" must be KEY=VALUE, such as parameters.stocking_rate=0.2.')
    return key, value


def _report(found: "Summary", json: bool) -> None:
    if json:
        sys.stdout.write(json_format.dumps(found.as_dict(), indent=2) + "\n")
    else:
        sys.stdout.write(found.as_text())
