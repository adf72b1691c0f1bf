"""A file or folder for each suite of `scripts/bench`: its `figures` measures, beside targets and peers."""
