"""The commands, each with its first line of help. `steppe --help` prints this table and imports nothing else, so it is fast."""

COMMANDS = {
    "new": "Write a run file, or a model, to start from.",
    "ingest": "Make a forcing store: from station records, daily maps, or generated.",
    "forcing": "Check a forcing store, or make its fast copy.",
    "check": "Read all that a run would read; report mistakes and the cost of the run.",
    "run": "Run a run file, or continue it.",
    "serve": "Serve a run: clients steer and watch it while it computes.",
    "token": "Give access to a served run, for some days.",
    "ensemble": "Run many scenarios of a run side by side; the weather is read once for all.",
    "engine": "Compute a run for its server, which starts this command.",
    "replay": "Repeat a steered run from its journal alone, and compare.",
    "compact": "Shorten the journal of a steered run: it begins at a checkpoint.",
    "describe": "Show a model: variables, units, parameters, sources.",
    "info": "Show the content of a run folder or a store.",
    "list": "Show the run folders below a folder: model, days, state, size.",
    "remove": "Remove a run folder, and nothing else.",
    "box": "Run the chemistry of one cell of air.",
    "plot": "Draw maps and series of a run (PNG).",
    "export": "Write results as NetCDF, CSV or GeoTIFF.",
    "measure": "Measure messages, files, processor; fit laws, find weaknesses, predict, compare, report.",
    "bridge": "Join MPI launches at several sites to one world, for any MPI program.",
    "schema": "Write the JSON Schema of the run file, for editors.",
    "doctor": "Show whether Steppe runs here, what is missing, and how to get it.",
    "completion": "Print the script that completes commands, options and files in a shell.",
}


def overview() -> str:
    """The text of `steppe --help`."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    return f"""Usage: steppe COMMAND [OPTIONS]

Run gridded environmental models in parallel; steer and watch them.

Commands (steppe COMMAND --help shows one, with examples):
{commands}

Options: --help, --version, --debug (show where an error comes from), --install-completion (bash, zsh, fish)

Start:
  steppe new run                # writes run.toml, with comments
  steppe check run.toml
  steppe run run.toml           # Ctrl-C stops it with a checkpoint; the same command continues
  steppe plot RUN_FOLDER

Exit codes: 0 done; 1 damage or failure from outside, or a defect; 2 a mistake found before the first step;
75 stopped on request with a checkpoint (the same command continues); 130 second Ctrl-C.
"""
