"""The `steppe` command: one file a sub-command, no logic."""


def main() -> None:
    """Runs the command line."""
