"""New runs: what a request may name, and the process that looks whether the run can be computed."""

import asyncio
import os
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import tomli_w

from steppe.api import NewRun
from steppe.server.problems import Wrong

SECONDS = 120.0  # that the data of a run may take to be looked at
DEPTH = 16  # levels of a run file
DATES = ("start", "end", "date")  # keys whose texts are dates, which JSON has none of


def table_of(request: NewRun) -> dict[str, Any]:
    """The run file of a request; raises Wrong, bad-field."""
    table, position = request.run, "$.run"
    if table is None:
        position = "$.toml"
        try:
            table = tomllib.loads(request.toml or "")
        except (ValueError, RecursionError) as error:
            raise Wrong("bad-field", f"The run file is not valid TOML: {error}.", position=position) from None
    return {name: _dated(value, position, name) for name, value in table.items()}


def _dated(value: Any, position: str, key: str = "", depth: int = 0) -> Any:
    """The same with dates; what no run file can hold is refused."""
    if value is None or depth > DEPTH:
        what = "holds null, which no run file has" if value is None else f"is deeper than {DEPTH} levels"
        raise Wrong("bad-field", f'The run file {what}, at "{key[:64]}".', position=position)
    if isinstance(value, dict):
        return {name: _dated(item, position, name, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_dated(item, position, key, depth + 1) for item in value]
    if isinstance(value, str) and key in DATES:
        try:
            return date.fromisoformat(value)
        except ValueError:
            return value
    return value


def check_paths(table: Mapping[str, Any], base: Path, allowed: Sequence[Path]) -> None:
    """Whether all that may be a path leads into folders that are allowed, wherever links lead; and whether no code is named.

    Raises
    ------
    Wrong
        path-foreign.
    """
    if str(table.get("model", "")).endswith(".py"):
        raise Wrong("path-foreign", "A request names a model that is installed, never a file of code.", value=str(table["model"])[:64])
    roots = [folder.resolve() for folder in allowed]
    for text in _texts({key: value for key, value in table.items() if key != "output"} | {"output": _without_path(table.get("output"))}):
        if "\0" in text:
            raise Wrong("path-foreign", "A text holds a character that no path has.")
        path = os.path.join(base, text)
        if "/" in text or text.startswith(("~", ".")) or os.path.exists(path):
            real = os.path.realpath(path)
            if text.startswith("~") or not any(Path(real).is_relative_to(root) for root in roots):
                raise Wrong("path-foreign", f'"{text[:100]}" leads out of the folders that this server may read.', value=text[:100])
            if os.path.exists(real) and not (os.path.isfile(real) or os.path.isdir(real)):
                raise Wrong("path-foreign", f'"{text[:100]}" is neither a file nor a folder.', value=text[:100])


def _without_path(output: Any) -> Any:
    return {key: value for key, value in output.items() if key != "path"} if isinstance(output, dict) else output


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (key, *_texts(item))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


async def prepare(table: Mapping[str, Any], folder: Path) -> None:
    """Has a process read the run, its data and its model, and make its folder; where it cannot, there is none.

    Raises
    ------
    Wrong
        bad-run: the run cannot be computed; too-costly: looking takes too long.
    """
    aside = folder.with_name(f".{folder.name}.toml")
    try:
        aside.write_text(tomli_w.dumps(dict(table)))
        command = [sys.executable, "-m", "steppe.engine.admit", str(aside), str(folder)]
        process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE)
        try:
            async with asyncio.timeout(SECONDS):
                said, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise Wrong("too-costly", f"Looking at the data of this run takes more than {SECONDS:g} s.") from None
        finally:
            if process.returncode != 0:
                shutil.rmtree(folder, ignore_errors=True)
    finally:
        aside.unlink(missing_ok=True)
    if process.returncode:
        text = said.decode(errors="replace").replace(f'"{aside}"', "of this request") or "The run cannot be opened."
        raise Wrong("bad-run", text, position="$.run")
