"""The tree of commands, made from the table in `steppe.cli.commands`."""

from importlib.metadata import version

from cyclopts import App

from steppe.cli.commands import COMMANDS, INGEST

app = App(name="steppe", version=version("steppe"), version_flags=["--version"], help_format="plaintext")
ingest = App(name="ingest", help="Make a forcing store.", help_format="plaintext")

for name, text in COMMANDS.items():
    if name == "ingest":
        app.command(ingest)
    else:
        app.command(f"steppe.cli.{name}:{name}", name=name, help=text, help_format="plaintext")
for name, text in INGEST.items():
    ingest.command(f"steppe.cli.ingest:{name}", name=name, help=text, help_format="plaintext")
