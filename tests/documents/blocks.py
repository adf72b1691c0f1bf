"""The fenced blocks of the pages that a person follows: README.md and docs/*.md.

| kind | what a reader does with it |
|---|---|
| `sh` | types it in the one terminal of the page |
| `python` | types it in the one Python session of the page |
| `text`, `json` | compares it with what the block before printed; `...` stands for anything |

A block whose first line is a comment with a file name alone (`# run.toml`, `// viewer.mjs`) is that file; the reader saves it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN, PRINTED = ("sh", "python"), ("text", "json")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?:#|//) ([\w.-]+\.\w+)\n")


@dataclass(frozen=True)
class Block:
    """One fenced block. `line`: number of its first line of text in the page, from 1."""

    page: Path
    line: int
    kind: str
    text: str

    @property
    def file(self) -> str:
        """Name of the file that the block is; "" where it is not a file."""
        found = FILE.match(self.text)
        return found[1] if found else ""

    @property
    def first_comment(self) -> str:
        """Its first line where that is a comment, otherwise ""."""
        line = self.text.partition("\n")[0]
        return line if line.startswith("#") else ""

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page, in order.

    Raises
    ------
    ValueError
        A fence is not closed, or a reader would not know what a block is for.
    """
    text = page.read_text()
    found = [Block(page, text[: fence.start(2)].count("\n") + 1, fence[1], fence[2]) for fence in FENCE.finditer(text)]
    if len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)) != 2 * len(found):
        raise ValueError(f"{page.name}: a fence is indented or not closed.")
    for block in found:
        if not (block.file or block.kind in RUN + PRINTED):
            raise ValueError(f'{block}: a block of the kind "{block.kind}" must name its file in its first line, such as "# run.toml".')
    return found
