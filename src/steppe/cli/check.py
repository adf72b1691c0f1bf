"""`steppe check`: finds mistakes before a run computes anything."""

import json as json_format
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steppe.errors import Exit, Mistake, some


def check(
    run_file: Path,
    /,
    *,
    set: Annotated[list[str] | None, Parameter(metavar="KEY=VALUE")] = None,
    json: bool = False,
) -> Exit:
    """Read all that a run would read; report mistakes and the cost of the run.

    The command writes nothing. Exit code 2: there is a mistake; 0: there is none.

    Examples:

        steppe check queensland.toml
        steppe check queensland.toml --set parameters.stocking_rate=0.2 --json

    Parameters
    ----------
    run_file
        The run file (TOML).
    set
        Another value for a key of the run file, with dots for tables. May be given several times.
    json
        Problems and cost as JSON on standard output.
    """
    from steppe.cli.compiling import compiling_is_said
    from steppe.cli.run import changes_of
    from steppe.engine import Plan, cautions, check_folder, estimate, options_text, problems, shortage, unread

    cost, options = None, ""
    levels: list[str] = []
    others: list[str] = []
    warnings: list[str] = []
    try:
        plan = Plan.of(run_file, changes_of(set))
        check_folder(plan)
        options, levels = options_text(plan.chosen), [f"{name}: {space.summary}" for name, space in plan.model.spaces.items()]
        others = unread(plan.forcing, plan.of_weather)
        found = [str(problem) for problem in problems(plan)]
        if not found:  # only a run without mistakes has a cost
            with compiling_is_said(lambda text: None if json else print(text, file=sys.stderr)):
                cost = estimate(plan)
            short = shortage(plan.run.output.path, cost.results_on_disk, cost.checkpoint)
            warnings = [*cost.warnings, *cautions(plan), *([short] if short else [])]
    except Mistake as mistake:
        if not json:
            raise
        found = [str(mistake)]
    if json:
        told: dict[str, object] = {"problems": found, "options": options, "levels": levels, "not_read": others, "warnings": warnings}
        told["cost"] = cost._asdict() if cost else None
        sys.stdout.write(json_format.dumps(told, indent=2) + "\n")
    else:
        for text in (*found, *warnings):
            sys.stderr.write(f"steppe: {text}\n")
        if options:
            sys.stdout.write(f"options: {options}\n")
        sys.stdout.write("".join(f"{text}\n" for text in levels))
        if plan.forcing and others:
            sys.stdout.write(f'Not read from "{plan.forcing.path}": {some(others, 10)}.\n')
        good = "Nothing else is wrong.\n" if warnings else "Nothing is wrong.\n"
        sys.stdout.write(cost.as_text() + good if cost else f"Problems: {len(found)}.\n")
    return Exit.MISTAKE if found else Exit.DONE
