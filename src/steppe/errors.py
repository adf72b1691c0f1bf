"""Everything that can go wrong, in one tree, and the exit code each kind ends with.

    SteppeError
    ├── Mistake               exit 2: the user's, found before the first step
    │   ├── RunFileError      a key, a value or a date of the run file
    │   ├── GridError         cells, masks, coordinates, regions
    │   │   ├── OutsideError       a place outside the grid
    │   │   └── InactiveError      a place in the sea or outside the mask
    │   ├── ForcingError      what a forcing store or a station file holds: units, calendar, days, values
    │   ├── ModelError        a model's declaration, parameter, option or variable
    │   │   ├── UnknownNameError   no such variable
    │   │   ├── ComputedError      a variable that is computed and cannot be set
    │   │   ├── RangeError         a value outside the limits of its variable
    │   │   └── NotComputedError   what belongs to a step that is not at hand
    │   ├── FolderError       the run folder belongs to something else
    │   └── RequestError      what is asked of a run cannot be answered
    │       ├── ShapeError         an array of another length than its cells
    │       └── FinishedError      an order for a run that is at its last step
    └── Failure               exit 1: from outside, or a defect
        ├── DamagedError      a file is not what was written
        ├── NoSpaceError      the disk is full
        ├── ArrayError        what a program asks of a global array cannot be done
        │   └── IndexOutOfRangeError   an index outside the array
        └── BadCellError      a cell left its limits in mid-run

First sentence: what is wrong, with the value and what was expected; second: what to do.
"""

import difflib
import linecache
import os
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType

LISTED = 20  # names at most, where none is near a misspelt one
HERE = f"{Path(__file__).parent}{os.sep}"  # where the files of Steppe lie


class Exit(IntEnum):
    """The exit codes of every command."""

    DONE = 0
    FAILURE = 1
    MISTAKE = 2
    STOPPED = 75
    INTERRUPTED = 130


class SteppeError(Exception):
    """An error that Steppe raises on purpose. `code` names the kind for programs, `exit_code` ends a command."""

    code = "steppe"
    exit_code = Exit.FAILURE


class Mistake(SteppeError):
    """Something the user can put right; raised before the first step."""

    code = "mistake"
    exit_code = Exit.MISTAKE


class RunFileError(Mistake):
    """A key, a value or a date of the run file."""

    code = "run-file"


class GridError(Mistake):
    """Cells, masks, coordinates, regions."""

    code = "grid"


class OutsideError(GridError):
    """A place lies outside the grid."""

    code = "cell-outside"


class InactiveError(GridError):
    """The cell at a place takes no part: it lies in the sea or outside the mask."""

    code = "cell-inactive"


class ForcingError(Mistake):
    """Units, calendar, days or values of a forcing store or a station file."""

    code = "forcing"


class ModelError(Mistake):
    """A model's declaration, parameter, option or variable."""

    code = "model"


class UnknownNameError(ModelError):
    """There is no variable of this name."""

    code = "unknown-variable"


class ComputedError(ModelError):
    """A variable that is computed from others, or given with the weather, cannot be set."""

    code = "derived-variable"


class RangeError(ModelError):
    """A value lies outside the limits of its variable, or is no number."""

    code = "out-of-range"


class NotComputedError(ModelError):
    """The wanted value belongs to a step that is not at hand."""

    code = "not-computed"


class FolderError(Mistake):
    """The run folder belongs to something else or is in use."""

    code = "folder"


class RequestError(Mistake):
    """A question to a run that is steered cannot be answered."""

    code = "bad-query"


class ShapeError(RequestError):
    """An array has another length than the cells that it is for."""

    code = "array-shape"


class FinishedError(RequestError):
    """An order cannot have an effect: the run is at its last step."""

    code = "already-finished"


class Failure(SteppeError):
    """Something from outside went wrong, or Steppe has a defect."""

    code = "failure"


class DamagedError(Failure):
    """A file is not what was written: cut short, changed, or a part is missing."""

    code = "damaged"


class NoSpaceError(Failure):
    """The disk is full or a quota is reached; what was committed is safe."""

    code = "no-space"
    ADVICE = " Free some space, then start the same command again."

    @property
    def fault(self) -> str:
        """The file that could not be written, without the advice, which is for a command: a run that is served goes on by itself."""
        return str(self).removesuffix(self.ADVICE)


class ArrayError(Failure):
    """A call of a global array, a work queue or a file in memory cannot be done."""

    code = "array"


class IndexOutOfRangeError(ArrayError, IndexError):
    """An index lies outside the array."""

    code = "array-index"


class BadCellError(Failure):
    """A cell met a forcing value outside its limits, or its state is no longer finite. of: the errors of branches that stepped together."""

    code = "bad-cell"
    of: Mapping[int, "BadCellError"] = MappingProxyType({})

    def among(self, errors: Mapping[int, "BadCellError"]) -> "BadCellError":
        """The same with those of other branches."""
        self.of = errors
        return self


def not_installed(what: str, extra: str, *packages: str) -> Mistake:
    """The error of a part of Steppe that needs packages of an extra. Steppe is in no registry, so a clone is installed.

    Examples
    --------
    >>> print(not_installed("GeoTIFF", "geotiff", "rasterio"))
    GeoTIFF needs rasterio, not found in this installation. Type in the clone of Steppe: pip install ".[geotiff]"
    """
    return Mistake(
        f'{what} needs {" and ".join(packages)}, not found in this installation. Type in the clone of Steppe: pip install ".[{extra}]"'
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """' Did you mean "x"?' for a misspelt name, or the list of what is known when nothing is near."""
    names = sorted(known, key=_by_number)
    if close := closest(name, names):
        return f' Did you mean "{close}"?'
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED + 1 else ""
    return f" Known: {', '.join(names[:LISTED] if more else names)}{more}." if names else ""


def _by_number(name: str) -> list[str | int]:
    """A key that sorts r2 before r10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def some(texts: Sequence[str], most: int, joint: str = ", ") -> str:
    """The first texts of a list, and the number of the rest."""
    return joint.join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a misspelt one, with or without its capitals; None where none is near."""
    names = {each.casefold(): each for each in sorted(known, reverse=True)}
    close = difflib.get_close_matches(name.casefold(), names, n=1)
    return names[close[0]] if close else None


def place(file: str, line: int) -> str:
    """Where something stands in a file, with the text of the line."""
    return f'{file}, line {line} ("{linecache.getline(file, line).strip()}")'


def authors_line(error: BaseException) -> str:
    """The line in which an error arose, if it is of a file that Steppe called, such as a model of the user; otherwise "".

    Lines of Steppe, of Python and of installed packages do not count, nor do those that called Steppe, unless the error arose outside it.
    """
    others = tuple({f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib")})
    if isinstance(error, SyntaxError) and error.filename:
        return place(error.filename, error.lineno or 0)
    lines = _lines(error)
    first = next((at for at, (file, _) in enumerate(lines) if file.startswith(HERE)), 0)
    theirs = [each for each in lines[first:] if not each[0].startswith((HERE, *others, "<"))]
    return place(*theirs[-1]) if theirs else ""


def _lines(error: BaseException) -> list[tuple[str, int]]:
    return [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]


def in_words(error: BaseException) -> str:
    r"""An error of Python as one sentence, with the nearest name for one that does not exist.

    Examples
    --------
    >>> try:
    ...     (1).reel
    ... except AttributeError as error:
    ...     in_words(error)
    'AttributeError: \'int\' object has no attribute \'reel\'. Did you mean "real"?'
    """
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}."
    known: Iterable[str] = dir(error.obj) if isinstance(error, AttributeError) else ()
    if isinstance(error, NameError) and error.__traceback__:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        known = {**frame.f_globals, **frame.f_locals}
    close = difflib.get_close_matches(str(getattr(error, "name", "")), [each for each in known if not each.startswith("__")], n=1)
    return f"{type(error).__name__}: {str(error).rstrip('.')}." + (f' Did you mean "{close[0]}"?' if close else "")


@contextmanager
def authored(what: str, when: Callable[[], str] | None = None) -> Iterator[None]:
    """Calls a function of a model's author within this. what: the function, as in "`derive` of model bucket". when: the name of its step.

    Raises
    ------
    ModelError
        The function raised an error that is not one of Steppe's, or takes other arguments. The message names file, line and text.
    Failure
        What the function asked of Steppe, such as messages or a global array, failed. The message begins with file, line and text.
    """
    try:
        yield
    except SteppeError as error:
        if (type(error) is Failure or isinstance(error, ArrayError)) and (line := authors_line(error)):  # a call of Steppe in this line
            error.args = (f"{line}: {error}",)
        raise
    except (Exception, SystemExit) as error:  # a model that ends the process ends its run in mid-step, with the code of success
        line = authors_line(error)
        if not line and not isinstance(error, TypeError):  # which a function with other arguments raises in the line that calls it
            raise
        what = f"{what} fails on {when()}" if when else f"{what} fails"
        raise ModelError(f"{line and line + ': '}{what} with {in_words(error)}") from error


def unexpected(error: BaseException, traced: bool = False) -> str:
    """The text of a command for an error that Steppe does not raise on purpose: the line of the user's file, or a defect of Steppe.

    traced: the traceback is printed, too.
    """
    line = authors_line(error)
    if line:
        more = "" if traced else "; the same command with --debug shows how it was reached"
        return f"{line}: {in_words(error)} Correct this line{more}."
    if not any(file.startswith(HERE) for file, _ in _lines(error)):
        return in_words(error)
    return f"{type(error).__name__}: {error}. This is a defect of Steppe{'' if traced else '; the same command with --debug shows where'}."
