"""The types of values of the run file that are not those of TOML: moments, and names of folders."""

import os
import re
from datetime import date as Date
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, PlainValidator, StringConstraints
from pydantic_core import PydanticCustomError


def _name(text: str) -> str:
    """A name of a folder in the store, where "zarr.json" is a file."""
    if text == "zarr.json" or len(os.fsencode(text)) > 255:
        raise PydanticCustomError("folder_name", "no name")
    return text


def _day(value: object) -> Date | str:
    """A date of TOML, bare or in quotes; in quotes also one that only other calendars have: a 29th or 30th of February."""
    if (isinstance(value, Date) and not isinstance(value, datetime)) or (isinstance(value, str) and _FEBRUARY.match(value)):
        return value
    try:
        return Date.fromisoformat(value if isinstance(value, str) and _DATE.match(value) else "")
    except ValueError:
        raise PydanticCustomError("date_type", "no date") from None


def _moment(value: object) -> Date | datetime | str:
    """The same, or a date-time without a zone: of TOML, or in quotes, where seconds may be left out."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        raise PydanticCustomError("zone", "zone")
    return value if isinstance(value, datetime) or (isinstance(value, str) and _TIME.match(value)) else _day(value)


_FEBRUARY = re.compile(r"\d{4}-02-(29|30)$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d$")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?$")
Instant = Annotated[str, StringConstraints(pattern=f"^{_TIME.pattern}")]  # as a schema of JSON has no instants without a zone
Moment = Annotated[datetime | Date | str, PlainValidator(_moment, json_schema_input_type=Date | Instant)]
Name = Annotated[str, StringConstraints(pattern=r"^[^/.][^/]*$"), AfterValidator(_name)]  # of a folder
