"""What people read first, and what they read when they mistyped."""

import inspect
from dataclasses import fields, is_dataclass
from importlib import import_module

import pytest
from cyclopts import App
from inline_snapshot import snapshot

from steppe.cli.app import app
from steppe.cli.commands import COMMANDS
from steppe.errors import Exit, RunFileError

GROUPS = {
    "ingest": ("netcdf", "zarr", "silo", "stations", "generate", "land"),
    "new": ("run", "model"),
    "forcing": ("check", "pack"),
    "token": ("new", "list", "revoke"),
    "measure": ("fit", "predict", "messages", "files", "kernels", "compare", "report"),
}
ALONE = [name for name in COMMANDS if name not in GROUPS]
EVERY = [*((name,) for name in ALONE), *((group, name) for group, names in GROUPS.items() for name in names)]


def function(command: tuple[str, ...]):
    """The function behind a command."""
    return getattr(import_module(f"steppe.cli.{command[0]}"), command[-1])


def examples(command: tuple[str, ...]) -> list[list[str]]:
    """The lines of each example; a backslash ends each line but the last."""
    found: list[list[str]] = []
    for line in inspect.getdoc(function(command)).splitlines():
        if found and found[-1][-1].endswith("\\"):
            found[-1].append(line)
        elif line.startswith(("    steppe ", "    mpiexec ")):
            found.append([line])
    return found


def options_in(parameter: inspect.Parameter) -> int:
    """How many options a parameter is: one, or those of a dataclass."""
    return len(fields(parameter.default)) if is_dataclass(parameter.default) else 1


def texts(command: tuple[str, ...]) -> dict[str, str]:
    """Parameter -> help text, as the command line knows them."""
    tree: App = app
    for name in command:
        tree = tree[name]
    arguments = tree.assemble_argument_collection(parse_docstring=True)
    options = [argument for argument in arguments if argument.name != "*"]  # a dataclass, whose fields are options
    return {argument.names[0] if argument.names else argument.name: argument.parameter.help or "" for argument in options}


def test_the_overview_is_this_page(call):
    code, said, wrong = call("--help")
    assert (code, wrong) == (Exit.DONE, "")
    assert said == snapshot("""\
Usage: steppe COMMAND [OPTIONS]

Run gridded environmental models in parallel; steer and watch them.

Commands (steppe COMMAND --help shows one, with examples):
  new         Write a run file, or a model, to start from.
  ingest      Make a forcing store: from station records, daily maps, or generated.
  forcing     Check a forcing store, or make its fast copy.
  check       Read all that a run would read; report mistakes and the cost of the run.
  run         Run a run file, or continue it.
  serve       Serve a run: clients steer and watch it while it computes.
  token       Give access to a served run, for some days.
  ensemble    Run many scenarios of a run side by side; the weather is read once for all.
  engine      Compute a run for its server, which starts this command.
  replay      Repeat a steered run from its journal alone, and compare.
  compact     Shorten the journal of a steered run: it begins at a checkpoint.
  describe    Show a model: variables, units, parameters, sources.
  info        Show the content of a run folder or a store.
  list        Show the run folders below a folder: model, days, state, size.
  remove      Remove a run folder, and nothing else.
  box         Run the chemistry of one cell of air.
  plot        Draw maps and series of a run (PNG).
  export      Write results as NetCDF, CSV or GeoTIFF.
  measure     Measure messages, files, processor; fit laws, find weaknesses, predict, compare, report.
  bridge      Join MPI launches at several sites to one world, for any MPI program.
  schema      Write the JSON Schema of the run file, for editors.
  doctor      Show whether Steppe runs here, what is missing, and how to get it.
  completion  Print the script that completes commands, options and files in a shell.

Options: --help, --version, --debug (show where an error comes from), --install-completion (bash, zsh, fish)

Start:
  steppe new run                # writes run.toml, with comments
  steppe check run.toml
  steppe run run.toml           # Ctrl-C stops it with a checkpoint; the same command continues
  steppe plot RUN_FOLDER

Exit codes: 0 done; 1 damage or failure from outside, or a defect; 2 a mistake found before the first step;
75 stopped on request with a checkpoint (the same command continues); 130 second Ctrl-C.
""")


def test_no_command_at_all_shows_the_overview(call):
    assert call() == call("--help") == call("-h")


def test_the_help_of_run_is_this_page(call):
    code, said, wrong = call("run", "--help")
    assert (code, wrong) == (Exit.DONE, "")
    assert said == snapshot("""\
Usage: steppe run [OPTIONS] RUN_FILE

Run a run file, or continue it.

An unfinished run continues from its newest checkpoint; a finished one prints its summary.
Ctrl-C finishes the days in work, writes a checkpoint and ends; the same command continues.

Examples:

    steppe run queensland.toml
    steppe run queensland.toml --until 1995-12-31
    steppe run queensland.toml --ranks 4
    steppe run queensland.toml --set parameters.stocking_rate=0.2 \\
        --output more-stock

╭─ Arguments ──────────────────────────────────────────────────────────────────────────────────────╮
│ *  RUN_FILE  The run file (TOML). [required]                                                     │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
╭─ Parameters ─────────────────────────────────────────────────────────────────────────────────────╮
│ --until DATE     Last day to compute in this call, as 1995-12-31.                                │
│ --output PATH    The run folder, instead of the run file's.                                      │
│ --set KEY=VALUE  Another value for a key of the run file, with dots for tables. May be given     │
│                  several times.                                                                  │
│ --threads INT    Threads of each process, instead of the run file's or all cores.                │
│ --ranks INT      Processes that share the cells; their results are the same. `mpiexec -n 4       │
│                  steppe run ...` starts them too.                                                │
│ --timeline PATH  Write a timeline of each thread of each rank: a picture (.png), or a trace for  │
│                  ui.perfetto.dev (.json).                                                        │
│ --fresh          Remove the results of this or another run from the run folder, and start again. │
│ --quiet          No progress, no summary; only warnings.                                         │
│ --json           The summary as JSON on standard output, no progress.                            │
│ --show-config    Print the run file with every default, and stop.                                │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
""")


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_command_has_an_example_that_it_accepts(call, command):
    code, said, wrong = call(*command, "--help")
    assert (code, wrong) == (Exit.DONE, "")
    assert examples(command)
    for lines in examples(command):
        example = " ".join(line.removesuffix("\\").strip() for line in lines)
        assert "\n".join(lines) in said
        words = example.partition("steppe ")[2].split()
        assert words[: len(command)] == list(command)
        assert app.parse_args(words, exit_on_error=False, print_error=False)[0] is function(command)


@pytest.mark.parametrize("command", [*EVERY, ("measure", "measure_all")], ids=" ".join)
def test_an_example_stands_in_a_terminal_of_80_columns_as_it_can_be_typed(call, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = call(*command[:-1], command[-1].removeprefix("measure_"), "--help")[1]
    assert [line for lines in examples(command) for line in lines if line not in shown.splitlines()] == []


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_option_says_what_it_is(call, command):
    said = " ".join(call(*command, "--help")[1].replace("│", " ").split())
    found = texts(command)
    assert len(found) == sum(map(options_in, inspect.signature(function(command)).parameters.values()))
    for name, text in found.items():
        assert len(text) > 8, name
        assert " ".join(text.split()) in said


@pytest.mark.parametrize("name", ALONE)
def test_the_overview_begins_with_what_the_command_says_of_itself(name):
    verb = COMMANDS[name].split()[0]
    assert (function((name,)).__doc__ or "").startswith(verb)


@pytest.mark.parametrize("group", GROUPS)
def test_the_commands_of_a_group_are_listed_with_what_they_do(call, group):
    code, said, _ = call(group, "--help")
    assert code == Exit.DONE
    width = 1 + max(map(len, GROUPS[group]))
    for name in GROUPS[group]:
        assert function((group, name)).__doc__.splitlines()[0] in " ".join(said.replace("│", " ").split())
        assert f"│ {name}".ljust(width + 2) in said


def test_the_version_is_that_of_the_package(call):
    from importlib.metadata import version

    assert call("--version") == (Exit.DONE, f"steppe {version('steppe')}\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rum", "x.toml"], 'Unknown command "rum". Did you mean "run"?'),
        (["ingest", "genrate"], 'Unknown command "genrate". Did you mean "generate"?'),
        (["run"], 'Command "run" parameter RUN_FILE requires an argument. `steppe run --help` shows what it takes.'),
        (["run", "x.toml", "--untill", "1990-02-01"], "Unknown option: --untill. Did you mean --until?"),
        (["check", "x.toml", "y.toml"], "The command takes no 'y.toml' here. `steppe check --help` shows what it takes."),
        (["serve", "--output", "x"], "Unknown option: --output. `steppe serve --help` shows"),
        (["plot", "-o", "x.png"], "Unknown option: -o. `steppe plot --help` shows"),
        (["run", "x.toml", "y.toml"], "y.toml"),
        (["run", "x.toml", "--threads", "many"], '"many"'),
        (["ingest", "generate", "w.zarr", "--region", "queensland"], "`steppe ingest generate --help` shows what it takes."),
        (["new", "modle"], 'Unknown command "modle". Did you mean "model"?'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistyped_command_is_told_in_one_line(call, arguments, sentence):
    code, said, wrong = call(*arguments)
    assert code == Exit.MISTAKE
    assert said == ""
    assert wrong.startswith("steppe: ")
    assert sentence in wrong
    assert wrong.count("\n") == 1


def test_debug_shows_where_an_error_comes_from(call, tmp_path):
    code, _, wrong = call("check", str(tmp_path / "no.toml"))
    assert code == Exit.MISTAKE
    assert wrong.count("\n") == 1
    with pytest.raises(RunFileError):
        call("check", str(tmp_path / "no.toml"), "--debug")
