"""`steppe describe`: variables, options and parameter sets of a model."""

import json as json_format
import sys
from pathlib import Path
from types import ModuleType

ORDER = ("state", "diagnostic", "forcing", "parameter", "derived")


def describe(model: str, /, *, json: bool = False) -> None:
    """Show a model: its variables with units, limits and sources, its options, and its named parameter sets.

    Examples:

        steppe describe pasture
        steppe describe examples/bucket.py --json
        steppe describe run.toml

    Parameters
    ----------
    model
        Name of a model, or a Python file that holds one; or a run file, for the variables, levels and options of its model in this run.
    json
        The same as JSON on standard output.
    """
    from steppe.jobs.catalogue import entry_of, grouped
    from steppe.models import find_model, make_model

    chosen = ""
    if model.endswith(".toml"):
        from steppe.engine import Plan, options_text  # reads all that the run names

        plan = Plan.of(Path(model))
        name, made, chosen = plan.run.model, plan.model, options_text(plan.chosen)
    else:
        name, made = model, make_model(find_model(model))
    module, entry = find_model(name), entry_of(name, made)
    if json:
        sys.stdout.write(json_format.dumps(entry, indent=2) + "\n")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 140, markup=False, emoji=False)
    console.print(Text.assemble((made.name, "bold"), f" {made.version}: {_about(module)}\n"))
    for role in ORDER:
        found = [variable for variable in entry["variables"] if variable["role"] == role]
        if not found:
            continue
        table = Table("name", "unit", "meaning", "default", "limits", "source", title=role, title_justify="left", box=None)
        for v in grouped(found) if role == "diagnostic" else found:
            meaning = v["long_name"] + "".join(f", on each {dim}" for dim in v["dims"] if dim in made.spaces)
            first = "" if v["initial"] is None else f"{v['initial']:g}"
            table.add_row(v["name"], v["units"], meaning, first, _limits(v["low"], v["high"]), v["source"])
        console.print(table, "")
    for name, space in made.spaces.items():
        labels = ", ".join(space.label(level) for level in range(len(space.values)))
        console.print(f"{name}: {labels}\n", highlight=False)
    if entry["options"]:
        table = Table("name", "default", "meaning", "values", title="option", title_justify="left", box=None)
        for name, option in entry["options"].items():
            values = "\n".join(f"{word}: {meaning}" for word, meaning in option["words"].items())
            table.add_row(name, option["default"], option["long_name"], values)
        console.print(table, "")
    if chosen:
        console.print(f"options of this run: {chosen}\n", highlight=False, soft_wrap=True)
    for kind, names in entry["sets"].items():
        console.print(f"{kind} sets: {', '.join(names)}")


def _about(module: ModuleType) -> str:
    """The first line of the docstring of a model's file or class, or its LONG_NAME."""
    made = getattr(module, "MODEL", None)
    own = vars(made)["__doc__"] if isinstance(made, type) else ""  # not that of a base class
    lines = (module.__doc__ or own or "").strip().splitlines()
    return lines[0] if lines else str(getattr(module, "LONG_NAME", "no description"))


def _limits(low: float | None, high: float | None) -> str:
    """Limits as text; "" where there are none."""
    if low is None:
        return "" if high is None else f"up to {high:g}"
    return f"{low:g} and more" if high is None else f"{low:g} to {high:g}"
