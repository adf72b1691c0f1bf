"""Docstrings and comments are in plain English: the client, the rank or the caller in place of "who" and "somebody"."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.documents.test_english import VAGUE

SOURCE = Path(__file__).parents[1] / "src" / "steppe"
CODE = re.compile(r"`[^`]*`|^ *\w+(, \w+)*$", re.MULTILINE)  # names: quoted ones, and lines of parameters


def texts(source: str) -> Iterator[str]:
    """The docstrings and comments of a file."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def test_docstrings_and_comments_of_a_file_are_found():
    source = '"""Of the file."""\n\n\nclass A:\n    """Of the class."""\n\n    who = 1  # of the line\n'
    assert [*texts(source)] == ["Of the file.", "Of the class.", "# of the line"]


def test_docstrings_and_comments_name_who_acts():
    files = [*SOURCE.rglob("*.py")]
    assert len(files) > 500
    suspects = {str(file.relative_to(SOURCE)): source for file in files if VAGUE.search(source := file.read_text())}
    found = [(name, text) for name, source in suspects.items() for text in texts(source) if VAGUE.search(CODE.sub("", text))]
    assert found == []
