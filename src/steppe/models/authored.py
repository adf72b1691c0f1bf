"""Errors in functions that the author of a model wrote: they name the author's file and line, and are not a defect of Steppe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from steppe.errors import ModelError, SteppeError, authors_line, in_words


@contextmanager
def authored(what: str, when: Callable[[], str] | None = None) -> Iterator[None]:
    """Calls a function of a model's author within this. what: the function, as in "`derive` of model bucket". when: the name of its step.

    Raises
    ------
    ModelError
        The function raised an error that is not one of Steppe's, or takes other arguments. The message names file, line and text.
    """
    try:
        yield
    except SteppeError:
        raise
    except Exception as error:
        line = authors_line(error)
        if not line and not isinstance(error, TypeError):  # which a function with other arguments raises in the line that calls it
            raise
        what = f"{what} fails on {when()}" if when else f"{what} fails"
        raise ModelError(f"{line and line + ': '}{what} with {in_words(error)}") from error
