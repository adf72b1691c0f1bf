"""Admits a run that a client asks for: `python -m steppe.jobs.admit` reads the run, its data and its model, and makes its folder.

Standard input is an `AdmissionRequest` as JSON. Standard output is {} when the folder was made; else the exit code is 2, and the output has
code, detail and facts of the refusal. So the server's event loop reads no file of a request, however slow the disk or long the request is.
"""

import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from datetime import date
from pathlib import Path

import msgspec

from steppe.api import NewRun
from steppe.control.rendezvous import put_run_file
from steppe.engine.plan import Plan
from steppe.engine.run_file import checked
from steppe.engine.toml_advice import toml_advice
from steppe.errors import Exit, SteppeError

DEPTH = 16  # levels of a run file
TEXTS = 1_000  # of a run file that may name a path: each is looked up
LONGEST = 4_096  # characters of one; no path is longer
PRIVATE = ("server.", "tokens.json", "door.json", "journal")  # beginnings of files in run folders that no run may read
DATES = ("start", "end", "date")  # keys whose texts are dates: JSON has no dates


class AdmissionRequest(msgspec.Struct):
    """The question of a server: the request, the future folder of the run, and the folders that the run may name."""

    request: NewRun
    folder: str
    allowed: list[str]


class FaultError(Exception):
    """The reason to refuse a request."""

    def __init__(self, code: str, detail: str, **facts: object) -> None:
        super().__init__(detail)
        self.code, self.facts = code, facts


def admit(request: NewRun, folder: Path, allowed: Sequence[Path]) -> None:
    """Makes the run folder of a request, with its run file for engines.

    Raises
    ------
    FaultError
        bad-field, path-foreign; bad-run: the run cannot be computed.
    """
    table = table_of(request)
    check_paths(table, folder.parent, allowed)
    place = folder.parent / f".{folder.name}.toml"
    try:
        run = checked(table, place, {"output.path": json.dumps(str(folder.absolute()), ensure_ascii=False)})
        reader = Plan.of(run).reader()
        if reader:
            reader.close()
        put_run_file(folder, run.as_toml())
    except SteppeError as error:
        raise FaultError("bad-run", str(error).replace(f'"{place}"', "of this request"), position="$.run") from None


def table_of(request: NewRun) -> dict[str, object]:
    """The run file of a request; raises FaultError, bad-field."""
    table, position = request.run, "$.run"
    if table is None:
        position = "$.toml"
        try:
            table = tomllib.loads((request.toml or "").removeprefix("\ufeff"))  # an editor's byte order mark
        except (ValueError, RecursionError) as error:
            advice = toml_advice(str(error), request.toml or "")
            raise FaultError("bad-field", f"The run file is not valid TOML: {error}.{advice}", position=position) from None
    return {name: _dated(value, position, name) for name, value in table.items()}


def _dated(value: object, position: str, key: str = "", depth: int = 0) -> object:
    """The same with dates; raises for values that no run file can have."""
    if value is None or depth > DEPTH:
        what = "holds null, which no run file has" if value is None else f"is deeper than {DEPTH} levels"
        raise FaultError("bad-field", f'The run file {what}, at "{key[:64]}".', position=position)
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


def check_paths(table: Mapping[str, object], base: Path, allowed: Sequence[Path]) -> None:
    """Checks that each text that may be a path leads into allowed folders, through links too, and that no code is named.

    Raises
    ------
    FaultError
        path-foreign; bad-field: there are too many texts, or a text is too long.
    """
    if str(table.get("model", "")).endswith(".py"):
        raise FaultError("path-foreign", "A request names a model that is installed, never a file of code.", value=str(table["model"])[:64])
    texts = {*_texts({**table, "output": _without_path(table.get("output"))})}
    if len(texts) > TEXTS:
        raise FaultError("bad-field", f"The run file has {len(texts):,} different texts; {TEXTS:,} are allowed.", allowed=TEXTS)
    roots = [folder.resolve() for folder in allowed]
    for text in sorted(texts):
        _check_text(text, base, roots)


def _check_text(text: str, base: Path, roots: Sequence[Path]) -> None:
    if len(text) > LONGEST:
        value = text[:100]
        raise FaultError("bad-field", f"A text has {len(text):,} characters; {LONGEST:,} are allowed.", value=value, allowed=LONGEST)
    if "\0" in text:
        raise FaultError("path-foreign", "A text holds a character that no path has.")
    path = os.path.join(base, text)
    if "/" in text or text.startswith(("~", ".")) or os.path.exists(path):
        real = os.path.realpath(path)
        if text.startswith("~") or not any(Path(real).is_relative_to(root) for root in roots):
            raise FaultError("path-foreign", f'"{text[:100]}" leads out of the folders that this server may read.', value=text[:100])
        if os.path.basename(real).startswith(PRIVATE):
            raise FaultError("path-foreign", f'"{text[:100]}" is a file of the server.', value=text[:100])
        if os.path.exists(real) and not (os.path.isfile(real) or os.path.isdir(real)):
            raise FaultError("path-foreign", f'"{text[:100]}" is neither a file nor a folder.', value=text[:100])


def _without_path(output: object) -> object:
    return {key: value for key, value in output.items() if key != "path"} if isinstance(output, dict) else output


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (key, *_texts(item))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def main() -> Exit:
    """Answers the question on standard input."""
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=AdmissionRequest)
    fault: dict[str, object] = {}
    try:
        with redirect_stdout(sys.stderr):  # what a model prints while it is loaded is no part of the answer
            admit(asked.request, Path(asked.folder), [Path(each) for each in asked.allowed])
    except FaultError as error:
        fault = {"code": error.code, "detail": str(error), "facts": error.facts}
    sys.stdout.buffer.write(msgspec.json.encode(fault))
    return Exit.MISTAKE if fault else Exit.DONE


if __name__ == "__main__":
    sys.exit(main())
