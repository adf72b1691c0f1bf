"""Advice for a run file that is no TOML, where the parser gives none."""

import re

SHORT_TIME = re.compile(r"= *(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)\s*$", re.MULTILINE)  # which TOML does not know


def toml_advice(error: str, text: str) -> str:
    """One more sentence after an error of the parser, with a blank before it; "" where there is none to give.

    Parameters
    ----------
    error
        The text of `tomllib.TOMLDecodeError`.
    text
        The run file.

    Examples
    --------
    >>> toml_advice("Invalid value", "start = 2001-03-05T06:00")
    ' An instant needs seconds or quotes: "2001-03-05T06:00".'
    >>> toml_advice("Cannot mutate immutable namespace ('output', 'series')", 'output = { path = "out" }')
    ' The table output is written in one line, which nothing can be added to: write [output], and its keys below it.'
    """
    if short := SHORT_TIME.search(text):
        return f' An instant needs seconds or quotes: "{short[1]}".'
    if table := _closed_table(error, text):
        return f" The table {table} is written in one line, which nothing can be added to: write [{table}], and its keys below it."
    return ""


def _closed_table(error: str, text: str) -> str:
    """The table in braces that a later line of the run file adds to; "" if that is not the mistake."""
    if "immutable namespace" not in error and "twice" not in error:  # the words of tomllib for it
        return ""
    keys = re.findall(r"'([^']+)'", error)
    for count, key in enumerate(keys, 1):
        if re.search(rf"^\s*{re.escape(key)}\s*=\s*{{", text, re.MULTILINE):
            return ".".join(keys[:count])
    return ""
