"""`steppe doctor`: whether Steppe runs here, and what it finds."""

import json as json_format
import sys

from steppe.errors import Exit

SIGNS = {"there": "+", "missing": "-", "needed": "!"}


def doctor(*, json: bool = False) -> Exit:
    """Show whether Steppe runs here, with Python, compiler, cache, MPI, memory, disk, browser, extras, and tests that would be skipped.

    "+" marks a part that is there. "-" marks a missing part that Steppe runs without. "!" marks a missing part that it needs; the exit code
    is then 1.

    Examples:

        steppe doctor
        steppe doctor --json

    Parameters
    ----------
    json
        The same as JSON on standard output.

    Returns
    -------
    Exit
        FAILURE where Steppe does not run.
    """
    from dataclasses import asdict

    from steppe.jobs.doctor import examine

    found = examine()
    needed = [each.name for each in found if each.state == "needed"]
    if json:
        sys.stdout.write(json_format.dumps({"runs": not needed, "findings": [asdict(each) for each in found]}, indent=2) + "\n")
    else:
        width = max(len(each.name) for each in found)
        for each in found:
            print(f"{SIGNS[each.state]} {each.name:<{width}}  {each.text}")
        print(f"Steppe does not run here: see {', '.join(needed)}." if needed else "Steppe runs here.")
    return Exit.FAILURE if needed else Exit.DONE
