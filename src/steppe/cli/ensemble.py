"""`steppe ensemble`: many scenarios of one run."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steppe.cli.compiling import compiling_is_said
from steppe.cli.control import supervised
from steppe.cli.progress import progress
from steppe.cli.rank import rank_of_run
from steppe.cli.run import arguments_of, read_with
from steppe.cli.stop import Stop
from steppe.errors import Exit, SteppeError


def ensemble(
    run_file: Path,
    scenarios: Path,
    *,
    output: Path | None = None,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    ranks: int | None = None,
    quiet: bool = False,
) -> Exit:
    """Run many scenarios of a run side by side; the weather is read once for all.

    Ctrl-C finishes the days in work and keeps all states; the same command continues.

    The table has a column `name` and one for each state or parameter that differs:

        name,stocking_rate,animal_weight
        light,0.05,400
        heavy,0.2,400

    Examples:

        steppe ensemble run.toml stocking.csv
        steppe ensemble run.toml stocking.csv --output ensemble \\
            --set time.end=1995-12-31

    Parameters
    ----------
    run_file
        The run file of all scenarios.
    scenarios
        A table (CSV), or TOML with [[scenario]] tables of a `name` and the values to `set`.
    output
        The run folder, instead of the run file's. `steppe info`, `plot`, `export` and steppe.open take it as one data set.
    set
        KEY=VALUE of the run file, for all scenarios.
    ranks
        Processes that share the cells of all scenarios. `mpiexec -n 4 steppe ensemble ...` starts them too.
    quiet
        No progress.
    """
    if ranks is not None:
        from steppe.cli.ranks import start_ranks

        again = arguments_of("ensemble", run_file, scenarios, output=output, set=set, quiet=quiet)
        if (ended := start_ranks(again, ranks)) is not None:
            return ended
    failure = None
    with rank_of_run() as rank:
        from steppe.engine import Event, Plan, Ranks
        from steppe.jobs.ensemble import read_scenarios, run_ensemble

        try:
            wanted = read_scenarios(scenarios)
            plan = Plan.of(read_with(run_file, set, output), cores=rank.cores)
            with Stop(says=not supervised()) as stop, progress(plan.grid.n_cells * len(wanted), plan.clock.unit, quiet) as tell:

                def say(kind: str, text: str) -> None:
                    tell(Event(kind, text, 0, plan.steps, ""))

                all_ranks = Ranks(rank.world, stop, rank.where)
                with compiling_is_said(lambda text: say("compiling", text)):
                    done = run_ensemble(plan, wanted, all_ranks, tell, stop, say)
        except SteppeError as error:  # rank 0 says it, and the others end as after any command
            failure = error
    if failure:
        raise failure
    folder = Path(plan.run.output.path)
    if not done:
        sys.stderr.write("Stopped with all states kept. The same command continues.\n")
        return Exit.STOPPED
    if not quiet:
        sys.stdout.write(f'{folder}: {len(wanted):,} scenarios. `steppe plot` draws them together; steppe.open("{folder}") reads them.\n')
    return Exit.DONE
