"""How a cell model declares the options that choose between code paths: words for users, small integers for the compiler."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from steppe.errors import ModelError, nearest


@dataclass(frozen=True, init=False)
class Choice:
    """One option: its meaning, and its words with the meaning of each, in the order of the integers that stand for them.

    Raises
    ------
    ModelError
        A meaning is missing, or there are fewer than two words.

    Examples
    --------
    A model writes `runoff: Annotated[int, RUNOFF] = 0` in its `Options` and compares with a module constant.

    >>> RUNOFF = Choice("How runoff is computed", {"cn": "curve number of soil and cover", "intensity": "rainfall intensity"})
    >>> RUNOFF.index("intensity")
    1
    """

    long_name: str
    words: tuple[str, ...]
    meanings: tuple[str, ...]

    def __init__(self, long_name: str, words: Mapping[str, str]) -> None:
        if not long_name or not isinstance(words, Mapping) or len(words) < 2 or not all(words.values()):
            raise ModelError(
                f"Choice({long_name!r}, ...) needs a meaning, and at least two words with the meaning of each: "
                'Choice("How runoff is computed", {"cn": "curve number", "intensity": "rainfall intensity"}).'
            )
        for name, value in (("long_name", long_name), ("words", tuple(words)), ("meanings", tuple(words.values()))):
            object.__setattr__(self, name, value)

    def index(self, word: str) -> int:
        """The integer that stands for `word`.

        Raises
        ------
        ModelError
            The word is not one of the choices.
        """
        if word not in self.words:
            raise ModelError(f'"{word}" is not one of the choices {", ".join(self.words)}.{nearest(word, self.words)}')
        return self.words.index(word)


class Pick(NamedTuple):
    """A word that a model takes for one of its options, and the reason, such as "the weather holds no pan"."""

    word: str
    reason: str
