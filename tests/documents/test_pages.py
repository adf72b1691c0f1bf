"""A reader who follows a page line by line, from an empty folder, meets no failing line."""

import re

import pytest

from tests.documents.blocks import PAGES, ROOT, Block, blocks_of
from tests.documents.commands import commands_in, commands_of, unknown_in
from tests.documents.reader import Reader

# First comments of blocks that need another machine, root, another MPI or a clone with the network: they are not run.
ELSEWHERE = {
    "measure.md": ["# On a machine with four cores; this takes half an hour."],
    "bridge.md": [
        "# With a second machine, host.b.",
        "# At two clusters.",
        "# In a folder with the run file run.toml.",
        "# At two machines.",
    ],
    "README.md": ["# In a clone of this repository, with the network; choose what you want."],
    "serve.md": ["# On a cluster with Slurm: node1 is the machine of the server."],
    "ranks.md": ["# With another MPI; choose one of the first two lines.", "# On a cluster with Slurm."],
}
MOST = 12  # blocks elsewhere
TWICE = "steppe.Simulation("  # in README's Python that a reader may run more than once in one session, as a cell of a notebook
SHOWN = """
assert growth.attrs["units"] == last.attrs["units"] == "kg ha-1 d-1"
assert str(last.time.values)[:10] == "1990-12-31"
assert maps.dims == ("time", "lat", "lon")
"""


def is_elsewhere(block: Block) -> bool:
    return block.first_comment in ELSEWHERE.get(block.page.name, [])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_runs_in_order_in_an_empty_folder(page, tmp_path):
    folder, notes = tmp_path / "empty", tmp_path / "notes"
    folder.mkdir()
    notes.mkdir()
    with Reader(folder, notes) as reader:
        for block in blocks_of(page):
            if not is_elsewhere(block):
                reader.follow(block)
            if page.name == "README.md" and TWICE in block.text:
                for text in (SHOWN, f"del growth, last, maps\n{block.text}", SHOWN):
                    reader.follow(Block(page, block.line, "python", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_command_and_option_of_a_page_is_in_its_help(page):
    for command in commands_of(page):
        assert not (unknown := unknown_in(command)), f"{page.name}: {' '.join(command)}: {unknown} is not in --help"


def test_readme_has_python_that_is_run_twice_and_begins_with_a_script_of_at_most_12_lines_that_needs_no_file():
    blocks = blocks_of(ROOT / "README.md")
    assert sum(block.kind == "python" and TWICE in block.text for block in blocks) == 1
    assert blocks[0].kind == "python"
    assert 'steppe.example("pasture")' in blocks[0].text
    assert len(blocks[0].text.splitlines()) <= 12
    assert not re.search(r"\.toml|\.csv|\.zarr", blocks[0].text)


def test_few_blocks_are_not_run_and_each_says_why():
    left = {page.name: [block.first_comment for block in blocks_of(page) if is_elsewhere(block)] for page in PAGES}
    assert {name: comments for name, comments in left.items() if comments} == ELSEWHERE
    assert sum(map(len, ELSEWHERE.values())) <= MOST


@pytest.mark.parametrize("page", [page for page in PAGES if page.name in ELSEWHERE], ids=lambda page: page.name)
def test_the_programs_that_are_not_run_know_their_options(page):
    for block in filter(is_elsewhere, blocks_of(page)):
        for command in commands_in(block.text):
            assert not (unknown := unknown_in(command, everything=True)), f"{block}: {' '.join(command)}: {unknown} is not in --help"
