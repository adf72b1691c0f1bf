"""The reader of pages notices what a person would stumble over."""

from pathlib import Path

import pytest

from tests.documents.blocks import blocks_of
from tests.documents.commands import commands_in, unknown_in
from tests.documents.reader import Reader


def follow(folder: Path, text: str) -> None:
    page = folder / "page.md"
    page.write_text(text)
    (folder / "empty").mkdir()
    with Reader(folder / "empty", folder) as reader:
        for block in blocks_of(page):
            reader.follow(block)


def test_a_page_keeps_its_files_its_variables_and_its_names_from_block_to_block(tmp_path):
    follow(
        tmp_path,
        "```toml\n# a.toml\nb = 1\n```\n```sh\nname=a\n```\n```sh\ncat $name.toml\n```\n```text\nb = 1\n```\n"
        '```python\nimport tomllib\n```\n```python\nwith open("a.toml", "rb") as file:\n    print(tomllib.load(file))\n```\n'
        "```text\n{'b':\n... }\n```\n",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```sh\nfalse\ntrue\n```\n", "page.md:2 fails"),
        ("```sh\nfalse | true\n```\n", "page.md:2 fails"),
        ("```sh\necho $never_set\n```\n", "never_set: unbound variable"),
        ("```python\nprint(1 / 0)\n```\n", "ZeroDivisionError"),
        ('```python\nimport warnings\nwarnings.warn("old")\n```\n', "UserWarning: old"),
        ("```sh\necho one\n```\n```text\ntwo\n```\n", "printed was\none"),
        ('```sh\necho \'{"a": 1, "b": 2}\'\n```\n```json\n{"a": 1}\n```\n', r"it: \['b'\] is in one only"),
        ('```sh\necho \'{"a": [1]}\'\n```\n```json\n{"a": ["one"]}\n```\n', r"it.a\[\] is 1, in the sample 'one'"),
    ],
)
def test_a_line_that_fails_ends_the_page(tmp_path, text, said):
    with pytest.raises(AssertionError, match=said):
        follow(tmp_path, text)


@pytest.mark.parametrize("text", ["```sh\ntrue\n", "  ```sh\n  true\n  ```\n", "```\ntrue\n```\n", "```toml\na = 1\n```\n"])
def test_a_block_without_a_clear_use_is_refused(tmp_path, text):
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(ValueError, match=r"page.md"):
        blocks_of(tmp_path / "page.md")


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("mpiexec -n 2 steppe run run.toml --ranks 2 | tail -1", ""),
        ("steppe rum run.toml", "rum"),
        ("steppe ingest netcf own.nc", "netcf"),
        ("A=b steppe measure messages --quik", "--quik"),
        ("cat > a <<END\nsteppe rum\nEND\nsteppe run \\\n  --frehs # once more", "--frehs"),
        ("make demos", "demos"),
        ("pip install --no-binry=mpi4py mpi4py", "--no-binry=mpi4py"),
    ],
)
def test_a_command_or_an_option_that_help_does_not_know_is_found(text, unknown):
    assert [word for command in commands_in(text) if (word := unknown_in(command, everything=True))] == [unknown] * bool(unknown)
