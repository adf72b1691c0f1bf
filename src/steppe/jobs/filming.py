"""Makes a film for a server: `python -m steppe.jobs.filming JSON`. It has the lowest priority, so it slows no run.

The JSON holds path and name of the run folder, the film to write, and options: the fields of `FilmChoices`, and "rate", frames a second.
Standard output is a line of JSON a frame, {"part": 0.25, "date": "1990-01-31"}, or a code and a detail if the film cannot be made.
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from steppe.errors import RequestError, SteppeError
from steppe.jobs.film import FilmChoices, draw_film

LEAST = 19  # niceness: a film takes idle processors only
CODES = {"run-file": "not-computed", "folder": "not-computed", "mistake": "not-installed"}


def _say(**said: object) -> None:
    print(json.dumps(said), flush=True)


def main() -> None:
    """Makes the film."""
    asked = json.loads(sys.argv[1])
    path, name = asked["path"], asked["name"]
    with suppress(OSError):  # where Linux gives each session an equal share, niceness counts within a session only
        os.setsid()
        Path("/proc/self/autogroup").write_text(str(LEAST), encoding="utf-8")
    os.nice(LEAST)
    try:
        options = dict(asked["options"])
        rate = options.pop("rate", 10)
        draw_film(Path(path), Path(asked["film"]), FilmChoices(**options), rate, tell=lambda part, date: _say(part=part, date=date))
    except RequestError as error:
        command = f"steppe plot {name} --movie film.mp4 --variable {asked['options']['variable']}"
        _say(code="too-costly", detail=f"{error} Ask for a shorter period, or type `{command}` where the run folder lies.")
    except SteppeError as error:
        detail = str(error).replace(path, name).replace("--from", "from").replace("--to", "to")  # keys of the query
        _say(code=CODES.get(error.code, error.code), detail=detail)


if __name__ == "__main__":
    main()
