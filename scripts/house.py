"""Behind `scripts/house [--trace] [ROOT]`: how large the code is, how its parts are cut, and how many functions one order passes.

Counts are of `src/steppe` below ROOT (default: this repository). The trace serves a small run and records, in the server and in the engine,
every function of Steppe that is called while one step is ordered, and while one map is asked for.
"""

from __future__ import annotations

import ast
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parents[1]
LONG_FILE, SHORT_FILE, LONG_FUNCTION, MANY_ARGUMENTS = 400, 40, 60, 7
INNER = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")  # a function each in Python 3.11; later versions have but the last
ROUNDS, QUIET = 5, 2.0  # of a trace, and seconds before each, in which an engine makes its state durable
RECORDER = """\
import json, os, signal, sys, threading
called, recording = set(), [False]
def profile(frame, event, argument):
    if recording[0] and event == "call" and "/src/steppe/" in frame.f_code.co_filename:
        called.add((frame.f_code.co_filename.split("/src/steppe/")[1], frame.f_code.co_qualname))
def turn(*_):
    recording[0] = not recording[0]
    if not recording[0]:
        path = os.path.join(os.environ["STEPPE_HOUSE"], f"{os.getpid()}.json")
        with open(path + ".part", "w") as file:
            json.dump(sorted(called), file)
        os.rename(path + ".part", path)
        called.clear()
signal.signal(signal.SIGUSR2, turn)
threading.setprofile(profile)
sys.setprofile(profile)
"""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def main(words: list[str]) -> int:
    """Prints what the words ask for; an exit status."""
    paths = [Path(word) for word in words if not word.startswith("-")]
    counts(paths[0] if paths else ROOT)
    if "--trace" in words:
        trace()
    return 0


def counts(root: Path) -> None:
    """Prints the figures of the text."""
    files = sorted((root / "src" / "steppe").rglob("*.py"))
    trees = {file: ast.parse(file.read_text()) for file in files}
    lines = {file: len(code_lines(file.read_text(), tree)) for file, tree in trees.items()}
    length = {file: len(file.read_text().splitlines()) for file in files}
    named = [file for file in files if file.name != "__init__.py"]
    short = {file: str(file.relative_to(root / "src" / "steppe")) for file in files}
    rooms: Counter[str] = Counter()
    for file in files:
        rooms[short[file].split("/")[0] if "/" in short[file] else "."] += lines[file]
    print(f"{sum(lines.values()):,} lines of code (no docstrings, comments or blank lines) in {len(files)} files")
    print("by room: " + ", ".join(f"{room} {count:,}" for room, count in rooms.most_common()))
    show(f"files over {LONG_FILE} lines", [f"{short[file]} {length[file]}" for file in files if length[file] > LONG_FILE])
    show(
        f"files under {SHORT_FILE} lines, __init__.py not counted",
        [short[file] for file in named if length[file] < SHORT_FILE],
        list_up=False,
    )
    bases = Counter(file.name for file in named)
    show("names of files used more than twice", [f"{name} {count}" for name, count in bases.items() if count > 2])
    classes: dict[str, list[str]] = defaultdict(list)
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(short[file])
    show("names of classes used twice", [f"{name} ({', '.join(where)})" for name, where in sorted(classes.items()) if len(where) > 1])
    found = [(file, node) for file, tree in trees.items() for node in functions(tree)]
    public = public_names(root)
    long = [(span(node), short[file], node) for file, node in found if span(node) > LONG_FUNCTION]
    rest = [f"{where}:{node.name} {count}" for count, where, node in long if not command(where, node) and node.name != "step"]
    show(f"functions over {LONG_FUNCTION} lines, but for commands and steps of models", rest)
    many = [(arguments(node), short[file], node) for file, node in found if arguments(node) > MANY_ARGUMENTS]
    rest = [f"{where}:{node.name} {count}" for count, where, node in many if not command(where, node) and node.name not in public]
    show(f"functions with more than {MANY_ARGUMENTS} arguments, but for commands and public names", rest)
    anys = sum(isinstance(node, ast.Name) and node.id == "Any" for tree in trees.values() for node in ast.walk(tree))
    print(f"places with Any: {anys:,}")


def show(title: str, found: list[str], list_up: bool = True) -> None:
    """One figure, and what it counts."""
    print(f"{title}: {len(found)}" + (f" ({'; '.join(found)})" if found and list_up else ""))


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """The numbers of lines with code; a docstring is none."""
    docs = {number for node in ast.walk(tree) if is_text(node) for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#") and number not in docs
    }


def is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether a statement is nothing but a text: a docstring, or what stands behind a field."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def functions(tree: ast.Module) -> Iterator[Function]:
    """All functions of a file."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def span(node: Function) -> int:
    """Lines of a function without its docstring."""
    total = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if is_text(first):
        total -= (first.end_lineno or first.lineno) - first.lineno + 1
    return total


def arguments(node: Function) -> int:
    """How many a caller may give."""
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([each for each in given if each.arg not in ("self", "cls")])


def command(where: str, node: Function) -> bool:
    """Whether a function is a command of the command line, whose signature is its help."""
    return where.startswith("cli/") and not node.name.startswith("_")


def public_names(root: Path) -> set[str]:
    """Names of functions and methods that users type: those of the public classes of `steppe`, in both clients."""
    names = {"open", "connect", "run", "__init__"}
    for file in [*(root / "src" / "steppe" / "client").glob("*.py"), root / "src" / "steppe" / "engine" / "simulation.py"]:
        if file.exists():
            names |= {node.name for node in functions(ast.parse(file.read_text())) if not node.name.startswith("_")}
    return names


def trace() -> None:
    """Prints what one order of a step and one request for a map pass."""
    sys.path.insert(0, str(ROOT))
    from tests.client.served import Served
    from tests.scenario import make_scenario

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sitecustomize.py").write_text(RECORDER)
        os.environ |= {"PYTHONPATH": name, "STEPPE_HOUSE": name}
        served = Served(make_scenario(folder))
        try:
            run = served.connect()
            run.step(40)
            run.get("runoff")
            engine, server = run.info().engine, served.process
            assert engine is not None
            assert server is not None
            processes = {"server": server.pid, "engine": engine.pid}
            passed("order of one step", folder, processes, [lambda: run.step(1)])
            passed("map of a diagnostic", folder, processes, [lambda: run.step(1), lambda: run.get("runoff")])
        finally:
            served.stop()


def passed(title: str, folder: Path, processes: dict[str, int], works: Sequence[Callable[[], object]]) -> None:
    """Prints the functions that the last of some pieces of work passes in each process; the fewest of some rounds, without timers."""
    found = [recorded(folder, processes, works) for _ in range(ROUNDS)]
    for side in processes:
        called = min((each[side] for each in found), key=len)
        files = {file for file, _ in called}
        rooms = {file.split("/")[0] for file in files}
        inner = sum(name.endswith(INNER) for _, name in called)
        print(f"{title}, {side}: {len(called)} functions ({inner} comprehensions) in {len(files)} files of {len(rooms)} rooms")


def recorded(folder: Path, processes: dict[str, int], works: Sequence[Callable[[], object]]) -> dict[str, list[tuple[str, str]]]:
    """File and name of each function that the last piece of work passes, by process."""
    for work in works[:-1]:
        work()
    time.sleep(QUIET)
    for each in processes.values():
        os.kill(each, signal.SIGUSR2)
    time.sleep(0.01)
    works[-1]()
    for each in processes.values():
        os.kill(each, signal.SIGUSR2)
    found = {}
    for side, each in processes.items():
        path = folder / f"{each}.json"
        while not path.exists():
            time.sleep(0.05)
        found[side] = [tuple(pair) for pair in json.loads(path.read_text())]
        path.unlink()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
