"""The commands that a page names, in its shell blocks and in its sentences, and what their `--help` does not know."""

import re
import shlex
import shutil
import subprocess
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from itertools import takewhile
from pathlib import Path

from steppe.cli import run_command
from tests.documents.blocks import FENCE, ROOT, blocks_of

INLINE = re.compile(r"`((?:[A-Z_]+=\S+ )*(?:steppe|mpiexec|srun|make) [^`]+)`")
HEREDOC = re.compile(r"<<\s*'?(\w+)'?\n(?!#!).*?^\1$", re.DOTALL | re.MULTILINE)  # of data, not of a shell script
SBATCH = re.compile(r"^#SBATCH ", re.MULTILINE)
COMMENT = re.compile(r"(?:^|\s)#.*")
BETWEEN = ";&|()<>\n"  # characters that end a command
SUBCOMMANDS = ("pip", "steppe-bridge")  # programs, other than steppe, whose first word is a command with a help of its own


def commands_of(page: Path) -> list[list[str]]:
    """The words of every command of a page, sentences included."""
    inline = INLINE.findall(FENCE.sub("", page.read_text()))
    texts = [block.text for block in blocks_of(page) if block.kind == "sh"] + [text.replace("\\|", "|") for text in inline]
    return [command for text in texts for command in commands_in(text)]


def commands_in(text: str) -> list[list[str]]:
    """The words of every command of a shell text, without the files that it writes and the variables that it sets."""
    bare = COMMENT.sub("", SBATCH.sub("sbatch ", HEREDOC.sub("", text))).replace("\\\n", " ")
    lexer = shlex.shlex(bare, posix=True, punctuation_chars=BETWEEN)
    lexer.whitespace = " \t"
    lexer.commenters = ""
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if word.strip(BETWEEN):
            commands[-1].append(word)
        elif commands[-1]:
            commands.append([])
    without = [command[len(list(takewhile(_is_set, command))) :] for command in commands]
    return [command for command in without if command]


def unknown_in(command: list[str], everything: bool = False) -> str:
    """The first word of a command that its `--help` does not know, or "". `everything`: of all programs, not of steppe and make alone."""
    before = list(takewhile(lambda word: word != "steppe", command))
    ours = command[len(before) + 1 :]
    if ours[:1] == ["bridge"]:  # a program of its own, before the one that it starts
        own = list(takewhile(lambda word: word != "--", ours[1:]))
        return _unknown_elsewhere(["steppe-bridge", *own]) or unknown_in(ours[len(own) + 2 :], everything)
    wrong = _unknown_to_steppe(ours) if len(before) < len(command) else ""
    if before and before[0] == "make":
        return "" if _is_target(before[1]) else before[1]
    if before and everything:
        wrong = wrong or _unknown_elsewhere(before)
    return wrong


def _unknown_to_steppe(words: list[str]) -> str:
    chain: tuple[str, ...] = ()
    for word in words:
        if not _has_commands(chain) or word.startswith("-"):
            break
        if not _has(_help_of(chain), word):
            return word
        chain += (word,)
    return next((word for word in words if _is_option(word) and not _has(_help_of(chain), word.split("=")[0])), "")


def _unknown_elsewhere(words: list[str]) -> str:
    program = words[0]
    chain = (program, *words[1:2]) if program in SUBCOMMANDS else (program,)
    known = _printed(chain) if shutil.which(program) else ""
    return next((word for word in words[1:] if known and _is_option(word) and not _has(known, word.split("=")[0])), "")


@cache
def _help_of(chain: tuple[str, ...]) -> str:
    with redirect_stdout(StringIO()) as printed:
        run_command([*chain, "--help"])
    return printed.getvalue()


@cache
def _printed(chain: tuple[str, ...]) -> str:
    return subprocess.run([*chain, "--help"], capture_output=True, text=True).stdout


def _has_commands(chain: tuple[str, ...]) -> bool:
    return not chain or "─ Commands ─" in _help_of(chain)


def _has(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def _is_option(word: str) -> bool:
    return re.match(r"--?[A-Za-z]", word) is not None


def _is_set(word: str) -> bool:
    return re.match(r"\w+=", word) is not None


def _is_target(word: str) -> bool:
    return subprocess.run(["make", "-n", word], cwd=ROOT, capture_output=True).returncode == 0
