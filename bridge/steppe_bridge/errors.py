"""What a person can put right, and the exit codes of every command."""

MISTAKE, BRIDGE_FAILED = 2, 75


class Mistake(Exception):
    """Found before a rank is started: one sentence that names what was found and what was expected."""

    def __init__(self, sentence: str, code: int = MISTAKE) -> None:
        super().__init__(sentence)
        self.code = code


def quoted(names: list[str]) -> str:
    """Names for a sentence: "a", "b"."""
    return ", ".join(f'"{name}"' for name in names)
