"""How a cell model declares the options that choose between code paths: words for people, small integers for the compiler."""

from dataclasses import dataclass

from steppe.errors import ModelError, nearest


@dataclass(frozen=True, init=False)
class Choice:
    """The words of one option, in the order of the integers that stand for them.

    A model writes `runoff: Annotated[int, Choice("cn", "intensity")] = 0` in its `Options` and compares with a module constant.

    Examples
    --------
    >>> Choice("cn", "intensity").index("intensity")
    1
    """

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def index(self, word: str) -> int:
        """The integer that stands for `word`.

        Raises
        ------
        ModelError
            The word is none of the choices.
        """
        if word not in self.words:
            raise ModelError(f'"{word}" is not one of the choices {", ".join(self.words)}.{nearest(word, self.words)}')
        return self.words.index(word)
