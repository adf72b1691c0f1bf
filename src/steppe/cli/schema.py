"""`steppe schema`: the schema with which editors complete and check a run file."""

import json
from pathlib import Path

from steppe.cli.completion import write_text


def schema(model: str | None = None, /, *, output: Path | None = None) -> None:
    """Write the JSON Schema of the run file: editors complete keys, show units, and underline mistakes.

    The first line of a run file names its schema for editors: `#:schema PATH`. `steppe new run` writes both.

    Examples:

        steppe schema
        steppe schema pasture --output .steppe/pasture.json

    Parameters
    ----------
    model
        Name of a model, or a Python file that holds one: its parameters, variables and units are in the schema too.
    output
        The file to write or to replace, instead of standard output.
    """
    write_text(schema_text(model), output)


def schema_text(model: str | None) -> str:
    """The schema of every run file, or of those of one model, as JSON."""
    from steppe.jobs.schema import run_file_schema
    from steppe.models import find_model, make_model

    if model is None:
        return json.dumps(run_file_schema(), indent=1) + "\n"
    module = find_model(model)
    return json.dumps(run_file_schema(make_model(module), module), indent=1, ensure_ascii=False) + "\n"
