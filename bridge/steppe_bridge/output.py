"""What a site writes: whole lines behind its name, and the events among them."""

import json
import re
from asyncio import StreamReader
from collections.abc import Callable
from typing import Any, BinaryIO

Event = dict[str, Any]
RECORD = b"\x1e"  # before an event; a rank may have begun a line
EVENT = re.compile(RECORD + rb"([^\x1e\n]*)\n")


def event_line(event: Event) -> bytes:
    """An event as a site writes it to its standard error for the `run` that started it."""
    return RECORD + json.dumps(event).encode() + b"\n"


async def pass_on(source: StreamReader, target: BinaryIO, prefix: bytes, hear: Callable[[Event], None]) -> None:
    """Writes the lines of `source` behind `prefix`, each when it is whole, and gives the events to `hear`."""
    parts: list[bytes] = []  # of a line
    while data := await source.read(1 << 16):
        parts.append(data)
        if b"\n" in data:
            text = b"".join(parts)
            for found in EVENT.findall(text):
                hear(json.loads(found))
            *lines, rest = EVENT.sub(b"", text).split(b"\n")
            _write(target, prefix, lines)
            parts = [rest]
    if rest := b"".join(parts):
        _write(target, prefix, [rest])


def _write(target: BinaryIO, prefix: bytes, lines: list[bytes]) -> None:
    target.write(b"".join(prefix + line + b"\n" for line in lines))
    target.flush()


def say_world(sites: list[Event], kinds: dict[str, str]) -> str:
    """The sentence about a world that stands. kinds: name of a site -> its MPI, where that is known."""
    each = ", ".join(f"{site['name']} ({', '.join(filter(None, [str(site['ranks']), kinds.get(site['name'])]))})" for site in sites)
    return f"steppe bridge: {_count(sum(site['ranks'] for site in sites), 'rank')} at {_count(len(sites), 'site')}: {each}.\n"


LINK = {
    "broken": "Site {here} has lost its link to site {site}, and waits for it for {seconds} s.",
    "resumed": "Site {here} has its link to site {site} again after {seconds} s; nothing was lost.",
    "compresses": "Site {here} compresses what waits for its link to site {site}, to 1/{ratio} at first.",
}


def say_link(here: str, event: Event) -> str:
    """The sentence about a link of site `here`; empty for other events."""
    words = LINK.get(event["event"], "")
    return f"steppe bridge: {words.format(here=here, **event)}\n" if words else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
