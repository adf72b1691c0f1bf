"""Every kind of problem that a server names: its HTTP status, its title and what to do about it."""

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind. advice: what a person does about it, for the page of the problem."""

    status: int
    title: str
    advice: str


KINDS: dict[str, Kind] = {
    "bad-http": Kind(400, "The message is no HTTP request", "Use a client that speaks HTTP/1.1."),
    "bad-query": Kind(400, "The query is wrong", "Each key is given once and is one of those that the problem lists."),
    "bad-json": Kind(400, "The body is no acceptable JSON", "Send one object of at most 32 levels, each key once, finite 64-bit numbers."),
    "bad-header": Kind(400, "A header is wrong", "The detail names the header and its possible values."),
    "key-missing": Kind(
        400, "A steering request needs a key", "Send Idempotency-Key, 1 to 64 of A-Z a-z 0-9 . _ -, a new one for each order."
    ),
    "token-in-address": Kind(400, "A token must not stand in an address", "Send it as Authorization: Bearer, and have a new one made."),
    "not-authenticated": Kind(401, "A token is needed", "Send Authorization: Bearer and a token of the server, or log in."),
    "role-too-low": Kind(403, "The token may not do this", "Use a token of the role that the problem names: view, steer or admin."),
    "read-only": Kind(403, "The server takes no orders", "Ask the operator to start it without --read-only."),
    "foreign-origin": Kind(403, "The request came from another site", "Open the page of this server itself, or use a token in a header."),
    "unknown-host": Kind(
        421, "The server is not known by this name", "Use an address that the server printed, or allow the name when it starts."
    ),
    "unknown-path": Kind(404, "There is nothing at this address", "The contract at /api/v1/openapi.json lists all addresses."),
    "unknown-run": Kind(404, "There is no run of this name", "GET /api/v1/runs lists them."),
    "unknown-model": Kind(404, "There is no model of this name", "GET /api/v1/models lists them."),
    "runs-closed": Kind(403, "This server makes no new runs", "Start it with --runs DIR."),
    "path-foreign": Kind(422, "A path leads out of the folders that may be read", "Name data in a folder that the server was given."),
    "unknown-launcher": Kind(422, "There is no launcher of this name", "Take one that the problem names, or none."),
    "bad-run": Kind(422, "The run cannot be computed", "The detail names the mistake in the run file or its data."),
    "too-many-runs": Kind(409, "The server has as many runs as it may", "End one."),
    "too-many-scenarios": Kind(
        409, "The run has as many scenarios as it may", "Remove one: DELETE /api/v1/runs/{run}/scenarios/{scenario}; its past stays."
    ),
    "unknown-variable": Kind(404, "There is no variable of this name", "GET /api/v1/runs/{run}/variables lists them."),
    "unknown-scenario": Kind(404, "There is no scenario of this name", "GET /api/v1/runs/{run}/scenarios lists them."),
    "unknown-operation": Kind(404, "There is no operation of this number", "The reply to an order holds the number of its operation."),
    "unknown-event": Kind(404, "There is no future event of this number", "GET /api/v1/runs/{run}/events lists them."),
    "unknown-trigger": Kind(404, "There is no trigger of this number", "GET /api/v1/runs/{run}/triggers lists them."),
    "unknown-image": Kind(404, "There is no image of this name", "The message of the trigger that saved it holds its name."),
    "unknown-checkpoint": Kind(404, "There is no checkpoint of this name", "GET /api/v1/runs/{run}/checkpoints lists them."),
    "unknown-problem": Kind(404, "There is no problem of this name", "The contract names all kinds of problems."),
    "cell-outside": Kind(404, "The place lies outside the grid", "Take a place within the bounds that the problem names."),
    "cell-inactive": Kind(404, "No cell takes part there", "Take the nearest cell, which the problem names."),
    "method": Kind(405, "The address does not take this method", "The header Allow lists those that it takes."),
    "not-acceptable": Kind(406, "The answer cannot be given in this format", "Ask for format=raw, or for less."),
    "too-slow": Kind(408, "The request did not arrive in time", "Send it again over a faster link, or in smaller parts."),
    "already-finished": Kind(409, "The operation is over", "A rewind undoes it."),
    "name-taken": Kind(409, "The name is taken", "Choose another one."),
    "engine-busy-conflict": Kind(409, "The run cannot do this now", "Wait for the state that the problem names."),
    "scenario-closed": Kind(409, "The scenario was left", "Branch off it: its past is still there."),
    "expired-checkpoint": Kind(410, "The checkpoint is no longer kept", "Rewind to the date; it is computed again."),
    "version-stale": Kind(412, "Another client steered in the meantime", "Read the changes, and send the order with the new version."),
    "step-passed": Kind(412, "The scenario does not stand at this step", "Read its present step, and decide again."),
    "body-too-large": Kind(413, "The body is too large", "Send less; arrays go to /uploads."),
    "address-too-long": Kind(414, "The address is too long", "Put large regions into an order, or ask for a box."),
    "media-type": Kind(
        415, "The server does not accept this type or encoding of the body", "Send plain application/json, or the type that is named."
    ),
    "not-computed": Kind(
        416, "This time has not been computed", "Ask for a time within the range that the problem names, or step there first."
    ),
    "not-recorded": Kind(404, "The run does not record this variable", "Take one that the problem names, or add it to [output] variables."),
    "key-reused": Kind(422, "The key belongs to another order", "Use a new Idempotency-Key for each order."),
    "bad-field": Kind(422, "A member of the request is wrong", "The position names the member, the detail what was expected."),
    "out-of-range": Kind(422, "A value lies outside its limits", "Give a value within the range that the problem names."),
    "unit-wrong": Kind(422, "The unit does not fit", "Give a unit that converts to the one that the problem names."),
    "derived-variable": Kind(422, "The variable is computed and cannot be set", "Set those from which it follows; the problem names them."),
    "polygon-invalid": Kind(422, "The polygon is none", "Give three corners or more within the world that do not cross."),
    "region-invalid": Kind(422, "The region holds nothing or is none", "Give a box, polygon, cell or name that holds active cells."),
    "expression-invalid": Kind(422, "The expression cannot be read", "The position names the place of the mistake."),
    "date-outside-forcing": Kind(422, "The date lies outside the run", "Give a date within the range that the problem names."),
    "date-wrong": Kind(422, "The date names no step of the run", "Give a date of its calendar; the detail names steps that are near."),
    "array-shape": Kind(422, "The array is of another length", "Send one value for each cell of the region."),
    "digest-wrong": Kind(422, "The body does not match its digest", "The digest in the address is the SHA-256 of the body; send it again."),
    "unknown-upload": Kind(422, "The array was not uploaded", "PUT it to /uploads/{sha256} first."),
    "upgrade-needed": Kind(426, "The address is a WebSocket", "Open it as a WebSocket with the subprotocol steppe.live.1."),
    "too-many": Kind(429, "Too many requests", "Wait for the seconds of Retry-After."),
    "headers-too-large": Kind(431, "The headers are too large", "All headers together may have 16 KB."),
    "defect": Kind(500, "The server has a defect", "Report it with the log of the server; the run is not harmed."),
    "not-installed": Kind(501, "A part of the installation is missing", "Install the package of the detail on the machine of the server."),
    "too-busy": Kind(503, "The run has too many requests to answer", "Try again in a second."),
    "too-costly": Kind(503, "The answer would take too long to make", "Ask for less: a smaller region, or fewer corners."),
    "engine-recovering": Kind(503, "The engine is being started", "Try again in a second; nothing is lost."),
    "engine-failed": Kind(503, "The engine gave up", "Skip the command that the problem names, or rewind."),
    "draining": Kind(503, "The server is ending", "Try again when it is started again; nothing is lost."),
    "uploads-full": Kind(
        507, "Too many uploads that no order uses", "Use them in an order, or wait: the server removes unused uploads after an hour."
    ),
    "disk-full": Kind(507, "The disk is full", "Make room; accepted orders are safe, and the run continues."),
}
