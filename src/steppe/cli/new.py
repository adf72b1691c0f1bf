"""`steppe new`: a run file to start from."""

from pathlib import Path
from typing import Literal

from steppe.errors import FolderError

TEMPLATE = """\
# A run of Steppe: `steppe check {file}`, then `steppe run {file}`. Paths are relative to this file.
model = "{model}"                          # `steppe describe {model}` shows its variables, units and parameters

[time]
start = 1990-01-01
end = 1999-12-31                           # inclusive

[grid]
region = "queensland"                      # built in; or
# file = "mask.zarr"                       # a CF raster with a mask; or
# points = "stations.csv"                  # a list of cells: id, latitude, longitude

[forcing]
store = "weather.zarr"                     # made by `steppe ingest stations` or `steppe ingest generate`
# cadence.tmin = "7 days"                  # weekly means of a daily store, formed while reading

[parameters]                               # a named set, a number for all cells, or a variable of a store for each cell
{parameters}
# trees = {{ store = "land.zarr", variable = "trees" }}

# land_type = {{ store = "land.zarr", variable = "land_type" }}
# [[land_type]]                            # sets and numbers for the cells of one type
# id = 1

# [[event]]                                # what happens at the start of a day
# date = 1995-10-01
# set = {{ burn = 1 }}
# region = {{ box = [144.0, -24.0, 146.0, -22.0] }}

[output]
path = "{name}"                           # the run folder
variables = {variables}
every = "1 month"                          # or "1 day", "10 days", "1 year"
reduce = "mean"                            # mean, sum, min, max, last
# precision = "12 bits"                    # rounded: half the size

# [[output.series]]                        # area means of regions
# name = "state"
# variables = {variables}
# every = "1 day"
# region = "all"

# [engine]
# threads = 2                              # default: the cores of this machine
# dtype = "float32"                        # or "float64"
# checkpoint = "auto"                      # or "90 days", "none"
# on_bad_cell = "stop"                     # or "freeze"
"""


def new(what: Literal["run"], model: str = "pasture", *, output: Path = Path("run.toml")) -> None:
    """Write a commented run file.

    Examples: steppe new run; steppe new run pasture --output dalby.toml

    Parameters
    ----------
    what
        What to write: a run file.
    model
        Name of a model, or a Python file that holds one.
    output
        The file to write; one that is there stays as it is.
    """
    from steppe.models import find_model

    module = find_model(model)
    sets = module.sets() if hasattr(module, "sets") else {}
    parameters = "\n".join(f'{kind} = "{next(iter(names))}"'.ljust(43) + f"# {', '.join(names)}" for kind, names in sets.items())
    variables = str(list(getattr(module, "EXPORTS", ("",)))[:3]).replace("'", '"') if hasattr(module, "EXPORTS") else "[]"
    text = TEMPLATE.format(file=output.name, model=model, name=output.stem, parameters=parameters, variables=variables)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise FolderError(f'"{output}" is there already; it stays as it is. Give another name with --output.') from None
    print(f"{output} is written. Next: steppe check {output}")
