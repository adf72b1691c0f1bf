"""Docstrings and comments are in plain English: the client, the rank or the caller in place of "who" and "somebody"."""

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents.test_english import VAGUE

SOURCE = Path(__file__).parents[1] / "src" / "steppe"
ROOMS = ("cli", "comm", "control", "grid", "kernels", "testing", "view")


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


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_and_comments_name_who_acts(room):
    found = [(file.name, text) for file in sorted((SOURCE / room).rglob("*.py")) for text in texts(file.read_text()) if VAGUE.search(text)]
    assert found == []
