"""The table of all routes. Routing, the check of roles and the contract are made from it."""

from steppe.api import (
    MEDIA_TYPE,
    ROLES,
    ArrayInfo,
    CheckpointList,
    CheckpointRequest,
    Ended,
    EventList,
    EventRequest,
    Fit,
    GridInfo,
    Health,
    Info,
    Login,
    ModelDeclared,
    ModelList,
    NewRun,
    NewScenario,
    OperationInfo,
    Ordered,
    Pause,
    Preview,
    Rename,
    Restart,
    Rewind,
    RunList,
    ScenarioList,
    SeriesInfo,
    Set,
    Skip,
    Start,
    Step,
    Trigger,
    TriggerList,
    Uploaded,
    VariableInfo,
    VariableList,
    Whoami,
)
from steppe.server.query import BRANCH, CELLS, DATA, FILM, FIT, FORMATS, IMAGE, KEEP, LOG, SERIES, WHERE
from steppe.server.routes import (
    checkpoints,
    data,
    films,
    initialise,
    pages,
    places,
    rules,
    service,
    state,
    steering,
    streams,
)
from steppe.server.routes.table import JSON, Route, RouteTable

BASE = "/api/v1"
_RUN = f"{BASE}/runs/{{run}}"
_ARRAY = (ArrayInfo, *(media for form, media in FORMATS.items() if form != "json"))
_READ = (200, 304, 406, 410, 416, 422)
_ORDER = (202, 200, 409, 410, 412, 422, 507)

TABLE = RouteTable(
    [
        Route("GET", f"{_RUN}/data/{{variable}}", "view", data.data, "Values of a variable.", _READ, _ARRAY, query=DATA, by_bytes=True),
        Route("GET", _RUN, "view", state.info, "A run as it is now.", (200, 304), Info),
        Route("GET", f"{_RUN}/image/{{variable}}.png", "view", data.image, "A map.", _READ, "image/png", query=IMAGE, by_bytes=True),
        Route(
            *("GET", f"{_RUN}/series/{{variable}}", "view", data.series, "Values at some places, or of a region, over time."),
            *((200, 406, 410, 416, 422), (SeriesInfo, FORMATS["csv"], FORMATS["coverage-json"])),
            query=SERIES,
        ),
        Route(
            *("GET", f"{_RUN}/fit/{{variable}}", "view", data.fit, "Ends of colours that fit one map."),
            *((200, 406, 410, 416, 422), Fit),
            query=FIT,
        ),
        Route(
            *("GET", f"{_RUN}/film/{{variable}}.mp4", "view", films.film, "The records of a variable as a film; 202 while it is made."),
            *((200, 202, 416, 422, 501, 507), (JSON, "video/mp4")),
            query=FILM,
            by_bytes=True,
        ),
        Route(
            *("GET", f"{_RUN}/zarr/{{group}}/{{part}}", "view", data.zarr_group, "The content of a scenario, for readers of Zarr."),
            *((200, 409), JSON),
            by_bytes=True,
        ),
        Route(
            *("GET", f"{_RUN}/zarr/{{group}}/{{array}}/{{part}}", "view", data.zarr_array, "An array of it: its description, or a map."),
            *((200, 409, 410, 416), (JSON, "application/octet-stream")),
            by_bytes=True,
        ),
        Route("GET", f"{BASE}/models", "view", initialise.models, "All models.", (200, 304), ModelList),
        Route("GET", f"{BASE}/models/{{model}}", "view", initialise.model, "A model.", (200, 304), ModelDeclared),
        Route("GET", f"{BASE}/runs", "view", state.runs, "All runs.", (200,), RunList),
        Route("POST", f"{BASE}/runs", "steer", initialise.begin_run, "Begin a run.", (201, 409, 422, 507), Info, NewRun, keyed=True),
        Route("DELETE", _RUN, "admin", initialise.end_run, "End a run; its files stay.", (202, 409), Ended, query=KEEP),
        Route("POST", f"{_RUN}/start", "steer", steering.start, "Start the engine; of a run that failed, too.", (202, 422), Info, Start),
        Route("GET", f"{_RUN}/variables", "view", state.variables, "All variables.", (200, 304), VariableList),
        Route("GET", f"{_RUN}/variables/{{variable}}", "view", state.variable, "A variable.", (200, 304), VariableInfo),
        Route("GET", f"{_RUN}/grid", "view", places.grid, "The axes of the grid.", (200, 304), GridInfo),
        Route("GET", f"{_RUN}/cells", "view", places.cells, "The places of the cells of a region.", (200, 422), MEDIA_TYPE, query=CELLS),
        Route("POST", f"{_RUN}/step", "steer", steering.step, "Compute steps.", _ORDER, Ordered, Step, steering=True),
        Route("POST", f"{_RUN}/pause", "steer", steering.pause, "Stop at the next step's end.", _ORDER, Ordered, Pause, steering=True),
        Route("POST", f"{_RUN}/set", "steer", steering.set_, "Change a variable.", _ORDER, Ordered, Set, steering=True),
        Route(
            "PUT", f"{_RUN}/uploads/{{sha256}}", "steer", steering.upload, "An array for a change.", (201, 200, 422, 507), Uploaded, "bytes"
        ),
        Route("POST", f"{_RUN}/preview", "steer", steering.preview, "Preview a change.", (200, 410, 422), Preview, Set),
        Route("GET", f"{_RUN}/events", "view", rules.events, "Future changes.", (200,), EventList),
        Route("POST", f"{_RUN}/events", "steer", rules.add_event, "A future change.", _ORDER, Ordered, EventRequest, steering=True),
        Route(
            *("DELETE", f"{_RUN}/events/{{event}}", "steer", rules.remove_event, "Remove a change.", _ORDER, Ordered),
            query=WHERE,
            steering=True,
        ),
        Route("GET", f"{_RUN}/triggers", "view", rules.triggers, "The triggers.", (200,), TriggerList),
        Route("POST", f"{_RUN}/triggers", "steer", rules.add_trigger, "Add a trigger.", _ORDER, Ordered, Trigger, steering=True),
        Route(
            *("DELETE", f"{_RUN}/triggers/{{trigger}}", "steer", rules.remove_trigger, "Remove a trigger.", _ORDER, Ordered),
            query=WHERE,
            steering=True,
        ),
        Route("GET", f"{_RUN}/images/{{image}}.png", "view", rules.trigger_image, "A map that a trigger saved.", (200, 304), "image/png"),
        Route("GET", f"{_RUN}/checkpoints", "view", checkpoints.checkpoints, "Durable checkpoints that are kept.", (200,), CheckpointList),
        Route("POST", f"{_RUN}/checkpoints", "steer", steering.checkpoint, "Make one.", _ORDER, Ordered, CheckpointRequest, steering=True),
        Route(
            *("GET", f"{_RUN}/checkpoints/{{checkpoint}}", "steer", checkpoints.download, "All of one, as a tar."),
            *((200, 410), "application/x-tar"),
            query=BRANCH,
            by_bytes=True,
        ),
        Route("GET", f"{_RUN}/scenarios", "view", state.scenarios, "All scenarios.", (200,), ScenarioList),
        Route(
            *("POST", f"{_RUN}/scenarios", "steer", steering.add_scenario, "Branch off a scenario."),
            *((201, 409, 410, 412, 422, 507), Ordered, NewScenario),
            steering=True,
        ),
        Route(
            "POST", f"{_RUN}/scenarios/{{scenario}}/rewind", "steer", steering.rewind, "Go back.", _ORDER, Ordered, Rewind, steering=True
        ),
        Route(
            "POST", f"{_RUN}/scenarios/{{scenario}}/rename", "steer", steering.rename, "Rename it.", _ORDER, Ordered, Rename, steering=True
        ),
        Route("DELETE", f"{_RUN}/scenarios/{{scenario}}", "steer", steering.leave, "Close it for good.", _ORDER, Ordered, steering=True),
        Route("POST", f"{_RUN}/restart", "steer", steering.restart, "Go back to the beginning.", _ORDER, Ordered, Restart, steering=True),
        Route("POST", f"{_RUN}/skip", "admin", steering.skip, "Skip a command.", _ORDER, Ordered, Skip, steering=True),
        Route(
            *("GET", f"{_RUN}/log", "view", state.log, "The journal, a JSON object a line.", (200,), "application/jsonl"),
            query=LOG,
            by_bytes=True,
        ),
        Route("GET", f"{_RUN}/operations/{{operation}}", "view", state.operation, "The outcome of an order.", (200,), OperationInfo),
        Route("DELETE", f"{_RUN}/operations/{{operation}}", "steer", steering.cancel, "Cancel it.", _ORDER, Ordered, steering=True),
        Route(
            *("GET", f"{_RUN}/operations/{{operation}}/stream", "view", streams.operation_stream, "The changes of an order, as a stream."),
            *((200,), "text/event-stream"),
        ),
        Route("GET", f"{_RUN}/events-stream", "view", streams.events_stream, "Events, as a stream.", (200,), "text/event-stream"),
        Route("GET", f"{_RUN}/live", "view", streams.live, "A WebSocket: maps as the run goes, see docs/live.md.", (101, 426), None),
        Route("GET", f"{BASE}/whoami", "view", service.whoami, "The holder of the token.", (200,), Whoami),
        Route("POST", f"{BASE}/login", "-", service.login, "Change a token into a cookie.", (204, 401, 403, 415, 422, 503), None, Login),
        Route("POST", f"{BASE}/logout", "view", service.logout, "End the session.", (204,), None),
        Route("GET", f"{BASE}/openapi.json", "-", service.contract, "This contract.", (200,), JSON),
        Route("GET", "/", "-", pages.page, "The page.", (200, 304, 503), "text/html"),
        Route("GET", "/assets/{asset}", "-", pages.asset, "A part of the page.", (200, 304, 404), "*/*", by_bytes=True),
        Route("GET", "/problems/{code}", "-", service.explain, "The meaning of a problem and its remedy.", (200, 404), "text/html"),
        Route("GET", "/healthz", "-", service.healthz, "The process is up.", (200,), Health),
        Route("GET", "/readyz", "-", service.readyz, "Orders are taken.", (200, 503), Health),
        Route("GET", "/metrics", "view", service.metrics, "Counters for Prometheus.", (200,), "text/plain; version=0.0.4; charset=utf-8"),
    ],
    ROLES,
)

__all__ = ["BASE", "TABLE", "Route", "RouteTable"]
