"""Documents are in plain English: short sentences, and the client, the rank or the caller in place of "who" and "somebody"."""

import re

import pytest

from tests.documents.blocks import FENCE, PAGES, ROOT

MADE = ("errors.md", "notation.md")  # of what the code declares
PLAIN = [page for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"] if page.name not in MADE]
MOST = 25  # words of a sentence
WIDE = 150  # characters of a line of the changelog
VAGUE = re.compile(
    r"\b(who|whom|whoever|somebody|someone|nobody|anybody|anyone|everybody|people|(?:is|are|was|were) (?:told|said))\b", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """The sentences of a page, without blocks, tables, headings and code; a colon or a semicolon ends one, too."""
    text = re.sub(r"^(#.*|\|.*|!\[.*)$", "\n", FENCE.sub("\n", text), flags=re.MULTILINE)
    paragraphs = re.split(r"\n\s*\n|\n(?=- |\d\. )", re.sub(r"`[^`]*`", "CODE", text))
    plain = [" ".join(re.sub(r"\]\([^)]*\)", "]", each).replace("*", "").split()) for each in paragraphs]
    return [sentence for each in plain for sentence in re.split(r"(?<=[.;:?!])\s+", each) if sentence]


def test_a_sentence_ends_at_its_stop_and_code_is_one_word():
    text = "# A title who\n\nOne `steppe run who --x`\nline: two *words*. Three.\n\n```sh\nwho\n```\n\n- four\n- five [a](b c d)\n| who |\n"
    assert sentences(text) == ["One CODE line:", "two words.", "Three.", "- four", "- five [a]"]


@pytest.mark.parametrize("page", PLAIN, ids=lambda page: page.name)
def test_sentences_are_short(page):
    assert [sentence for sentence in sentences(page.read_text()) if len(sentence.split()) > MOST] == []


@pytest.mark.parametrize("page", PLAIN, ids=lambda page: page.name)
def test_sentences_name_who_acts(page):
    assert [sentence for sentence in sentences(page.read_text()) if VAGUE.search(sentence)] == []


def test_each_change_is_one_line():
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert all(line == "" or line.startswith(("- ", "#")) for line in lines)
    assert [line for line in lines if len(line) > WIDE] == []
