"""Packages that import a name when it is used, not before."""

import re
from collections.abc import Callable
from importlib import import_module
from io import open_code
from typing import Any

HOME = re.compile(rb"^    from (\S+) import (\w+) as (\w+)", re.MULTILINE)


def when_used(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from its `__name__` and `__file__`.

    The source of the package says once where each name lives: `from MODULE import NAME as NAME` in a block `if TYPE_CHECKING:`.
    """
    with open_code(file) as source:
        homes = {name.decode(): (module.decode(), own.decode()) for module, own, name in HOME.findall(source.read())}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, own = homes[name]
        return getattr(import_module(module), own)

    return get, lambda: sorted(homes), sorted(homes)
