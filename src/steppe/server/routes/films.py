"""The records of a variable as a film: a process makes one at a time, until no client asks for it any more."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from steppe.control import Refused
from steppe.control.orders import folder_of
from steppe.levels import parted
from steppe.server.context import ServerContext
from steppe.server.query import FILM, read_query
from steppe.server.request import Request, Response
from steppe.service.moments import step_behind

WAIT = 1.0  # [s] that an answer waits for the end of the work


async def film(request: Request) -> Response:
    """GET film/{variable}.mp4: 202 and how far it is, while it is being made."""
    context, run, name = request.context, request.parameters["run"], request.parameters["variable"]
    query, known = read_query(request.scope["query_string"], FILM), context.known(run)
    variable = context.variable(run, name, query["level"]).name
    branch, recorded = context.scenario(run, query["scenario"])["branch"], known.facts.get("outputs", [])
    if parted(name)[0] not in recorded:
        raise Refused("not-recorded", f'The run does not record "{name}", so there is no film of it.', value=name, allowed=recorded)
    steps = [step_behind(query[key], known.facts, key) for key in ("from", "to") if query[key] is not None]
    if steps != sorted(steps):
        raise Refused("out-of-range", f"from={query['from']} lies after to={query['to']}.", value=query["from"], position="from")
    scale = [query[key] for key in ("low", "high") if query[key] is not None]
    if scale and (len(scale) == 1 or scale[0] >= scale[1]):
        raise Refused("out-of-range", "Give low and a greater high, or neither.", value=scale[0], position="low")
    options = {"variable": variable, "start": query["from"], "end": query["to"], "rate": query["fps"], "palette": query["style"]}
    options |= {"scale": scale, "most": context.limits.film_values // max(known.grid.n_cells, 500_000)}
    path, shown = (str(folder_of(folder, branch)) for folder in (request.run.folder, Path(run)))
    if not await asyncio.to_thread(Path(path).is_dir):
        scenario = query["scenario"]
        text = f'Scenario "{scenario}" has no records on the disk yet, so there is no film of it. A checkpoint writes them.'
        raise Refused("not-computed", text, value=scenario, position="scenario")
    wanted = {"path": path, "name": shown, "options": options}
    making = context.film = context.film or FilmProcess(context, wanted)
    if making.wanted != wanted:
        raise Refused("too-many", "The server makes another film now, and one at a time.", retry_after=context.limits.film_asked)
    content = await making.ask()
    if content is None:
        return Response(202, json.dumps(making.done).encode())
    return Response(200, content, b"video/mp4", ((b"content-disposition", f'attachment; filename="{name}.mp4"'.encode()),))


class FilmProcess:
    """A film under way. It is the `film` of the context until a client has it, or none has asked for it for `limits.film_asked`."""

    def __init__(self, context: ServerContext, wanted: Mapping[str, object]) -> None:
        self.wanted, self.done = wanted, {"part": 0.0, "date": None}
        self._context, self._asked, self._over = context, monotonic(), False
        self._process: subprocess.Popen[bytes] | None = None
        self._made = asyncio.ensure_future(asyncio.to_thread(self._make))
        self._made.add_done_callback(lambda made: made.cancelled() or made.exception())  # which no client may ask for any more
        self._kept = asyncio.create_task(self._keep())

    async def ask(self) -> bytes | None:
        """The film; None while it is being made. Raises Refused when there will be none."""
        self._asked = monotonic()
        await asyncio.wait({self._made}, timeout=WAIT)
        if not self._made.done():
            return None
        self._kept.cancel()
        return self._made.result()

    async def _keep(self) -> None:
        try:
            while monotonic() - self._asked < self._context.limits.film_asked:
                await asyncio.sleep(WAIT)
        finally:
            self._over, self._context.film = True, None
            if self._process is not None:
                self._process.kill()

    def _make(self) -> bytes:
        """The film; in a thread."""
        with TemporaryDirectory(prefix="steppe-film-") as place:
            film = Path(place, "film.mp4")
            command = [sys.executable, "-m", "steppe.jobs.filming", json.dumps({**self.wanted, "film": str(film)})]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as self._process:
                if self._over:
                    self._process.kill()
                for line in self._process.stdout or ():
                    said = json.loads(line)
                    if "code" in said:
                        raise Refused(**said)
                    self.done = said
            if self._process.returncode == 0:
                return film.read_bytes()
        raise Refused("defect", "The process that makes films has died. The log of the server tells more.")
