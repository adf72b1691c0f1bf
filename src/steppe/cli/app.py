"""The tree of commands, made from the table in `steppe.cli.commands`."""

from importlib.metadata import version

from cyclopts import App, Parameter

from steppe.cli.commands import COMMANDS

app = App(
    name="steppe",
    version=f"steppe {version('steppe')}",
    version_flags=["--version"],
    help_format="plaintext",
    default_parameter=Parameter(negative=(), show_default=False),  # the help texts name the defaults
)

for name in COMMANDS:
    app.command(f"steppe.cli.{name}:{name}", name=name)
app.command("steppe.cli.completion:install", name="--install-completion")
