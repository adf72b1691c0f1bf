"""The part of all addresses before those of the routes, where a proxy passes on a part of its own."""

from steppe.server.asked import Asked
from steppe.server.problems import Wrong


class Prefix:
    """Takes the prefix off a path. It is "" or begins with a slash and ends without one."""

    def __init__(self, prefix: str = "") -> None:
        if prefix and (not prefix.startswith("/") or prefix.endswith("/")):
            raise ValueError(f'The prefix "{prefix}" must begin with a slash and not end with one.')
        self.prefix = prefix

    def __call__(self, asked: Asked) -> None:
        """Raises Wrong, unknown-path, when the path does not begin with the prefix."""
        path = asked.scope["path"]
        if self.prefix:
            if not path.startswith(self.prefix + "/"):
                raise Wrong("unknown-path", "There is nothing at this address.")
            path = path[len(self.prefix) :]
        asked.path = path
