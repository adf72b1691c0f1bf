"""Named sets of parameters, chosen apart for plant and soil. A set says where it differs from the declared defaults."""

import tomllib
from importlib.resources import files


def sets() -> dict[str, dict[str, dict[str, float]]]:
    """Kind ("plant", "soil") -> name of the set -> parameter -> value."""
    folder = files(__package__)
    return {kind: tomllib.loads((folder / f"{kind}s.toml").read_text(encoding="utf-8")) for kind in ("plant", "soil")}
