"""Writes src/steppe/client/sync.pyi, the types of the client for programs that wait, from those of the asynchronous one.

Call it as `python scripts/waiting.py`.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "src" / "steppe" / "client"
STUB = CLIENT / "sync.pyi"
HEAD = '"""The types of `sync.py`; `python scripts/waiting.py` writes this file from the asynchronous client."""\n\n'
FROM = {"Operation": (("operation.py", "AsyncOperation"),), "Run": (("look.py", "AsyncLook"), ("run.py", "AsyncRun"))}
HIDDEN = ("part", "refresh")  # of an operation
GENERATOR = ("-> AsyncGenerator['xarray.DataArray', None]", "-> Generator['xarray.DataArray', None, None]")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def stub() -> str:
    """The text of the file."""
    trees = {name: ast.parse((CLIENT / name).read_text()) for name in ("look.py", "run.py", "operation.py", "sync.py")}
    text = HEAD + "from collections.abc import Generator\n" + "\n".join(line for tree in trees.values() for line in imports(tree))
    for name, sources in FROM.items():
        own = {each.name: signature(each) for each in functions(trees["sync.py"], name)}
        members = {}
        for file, kind in sources:
            members |= {each.name: signature(each) for each in functions(trees[file], kind) if each.name not in HIDDEN}
        public = {key: lines for key, lines in members.items() if not key.startswith("_")}
        start = f"    def __init__(self, behind: Async{name}) -> None: ..."
        text += f"\nclass {name}:\n" + "\n".join([start, *(own | public).values()]) + "\n"
    for options in (("check", "--fix", "--select", "F401,F811,I,UP"), ("format",)):
        command = [ROOT / ".venv" / "bin" / "ruff", *options, "--quiet", "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def imports(tree: ast.Module) -> Iterator[str]:
    """The imports of a module, but for the reply that has the name of a class here."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "col_offset", 0) in (0, 4):
            node.names = [each for each in node.names if each.name != "Operation"]
            if node.names:
                yield ast.unparse(node)


def functions(tree: ast.Module, kind: str) -> list[Function]:
    """The methods of a class."""
    (found,) = (each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == kind)
    return [each for each in found.body if isinstance(each, Function)]


def signature(function: Function) -> str:
    """A method without its body, as one that waits."""
    marks = [each for each in function.decorator_list if isinstance(each, ast.Name) and each.id == "property"]
    bare = ast.FunctionDef(function.name, function.args, [ast.Expr(ast.Constant(...))], marks, function.returns, lineno=0)
    text = ast.unparse(ast.fix_missing_locations(bare)).replace(*GENERATOR)
    for name in ("AsyncOperation", "AsyncRun"):
        if function.name != "_look":
            text = text.replace(name, name.removeprefix("Async"))
    return "\n".join("    " + line for line in text.splitlines())


if __name__ == "__main__":
    STUB.write_text(stub())
    sys.exit(0)
