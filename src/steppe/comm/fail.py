"""The end of a rank that fails: one line with rank, cells, step and reason, and the end of all ranks.

Without it a rank that raises, or calls `exit`, would wait for ever for the others, which wait for it.
"""

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

from steppe.comm.world import World
from steppe.errors import Exit, Mistake, SteppeError, unexpected

RESERVE = 1 << 20  # [bytes] freed when memory has run out, so that the last message can be written


@dataclass
class RankLocation:
    """The cells and step of a rank; the stepping code updates it."""

    cells: tuple[int, int] | None = None  # the first, and the one after the last
    step: int | None = None
    date: Callable[[int], str] | None = None  # of a step

    def of(self, rank: int) -> str:
        """A text such as "rank 3 (cells 11,394-15,194), step 812 (1992-03-23)"."""
        cells = f" (cells {self.cells[0]:,}-{self.cells[1]:,})" if self.cells else ""
        date = f" ({self.date(self.step)})" if self.date and self.step is not None else ""
        return f"rank {rank}{cells}" + (f", step {self.step}{date}" if self.step is not None else "")


@contextmanager
def last_words(world: World, where: RankLocation, debug: bool = False) -> Iterator[None]:
    """The context in which a rank works: any exception in any of its threads, `SystemExit` too, ends all ranks.

    A single rank is left to Python. debug: print the traceback.
    """
    if world.size == 1:
        yield
        return
    reserve = bytearray(RESERVE)

    def end(error: BaseException) -> NoReturn:
        reserve.clear()
        fail(world, where, error, debug)

    def of_python(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        end(error)

    def of_thread(arguments: threading.ExceptHookArgs) -> None:
        end(arguments.exc_value or arguments.exc_type())

    before = sys.excepthook, threading.excepthook
    sys.excepthook, threading.excepthook = of_python, of_thread
    try:
        yield
    except BaseException as error:
        end(error)
    finally:
        sys.excepthook, threading.excepthook = before


def fail(world: World, where: RankLocation, error: BaseException, debug: bool = False) -> NoReturn:
    """Ends all ranks because of `error`."""
    if debug:
        sys.stderr.write("".join(traceback.format_exception(error)))
    if isinstance(error, Mistake) and where.step is None:
        world.abort(str(error), error.exit_code)  # a mistake of the user is the same on every rank
    code = Exit.INTERRUPTED if isinstance(error, KeyboardInterrupt) else getattr(error, "exit_code", Exit.FAILURE)
    world.abort(f"{where.of(world.rank)}: {_reason(error, debug)}", code)


def _reason(error: BaseException, debug: bool) -> str:
    text, name = str(error), type(error).__name__
    if isinstance(error, SteppeError):
        return f"{name}: {text}"
    if isinstance(error, MemoryError):
        return f"{name}: no memory is left{f' ({text})' if text else ''}. Fewer ranks a machine, or a machine with more of it, may do."
    if isinstance(error, SystemExit):
        return f"called exit ({text or 0}) before the run was over."
    if isinstance(error, KeyboardInterrupt):
        return "interrupted."
    return unexpected(error, debug)
