"""The contract, OpenAPI 3.1, made from the table of routes and the structs of the wire. `openapi.json` is what this made last.

`python -m steppe.server.contract` writes it anew.
"""

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from steppe.api import ARRAY, EXACTLY_ONE, KINDS, VARIABLE, Problem
from steppe.api.query import SCENARIO
from steppe.server.request import JSON_PROBLEM
from steppe.server.routes import TABLE
from steppe.server.routes.table import ALWAYS, JSON, OPEN, Route

HERE = Path(__file__).parent / "openapi.json"
_TEXT = {"type": "string"}
_NUMBER: dict[str, object] = {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}
_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_IN_PATH: dict[str, tuple[dict[str, object], str]] = {
    "run": ({**_TEXT, "pattern": f"^{_NAME}$"}, "Name of the run."),
    "variable": ({**_TEXT, "pattern": f"^{VARIABLE}$"}, "Name of the variable; of one of its levels, such as ozone[3]."),
    "model": ({**_TEXT, "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}, "Name of the model."),
    "scenario": ({**_TEXT, "pattern": f"^{SCENARIO}$"}, "Name of the scenario."),
    "group": ({**_TEXT, "pattern": f"^{SCENARIO}(~[0-9]{{1,9}})?$"}, "Name of the scenario, or with the number of a branch."),
    "sha256": ({**_TEXT, "pattern": "^[0-9a-f]{64}$"}, "SHA-256 of the body."),
    **{name: (_NUMBER, f"Number of the {name}.") for name in ("operation", "event", "trigger")},
    "image": ({**_TEXT, "pattern": "^[0-9]{1,18}-[0-9]{1,18}-[0-9]{1,18}$"}, "Name of the image."),
    "checkpoint": ({**_TEXT, "pattern": "^[0-9]{10}(-[0-9]{1,18})?$"}, "Name of the checkpoint."),
    "asset": ({**_TEXT, "pattern": "^[A-Za-z0-9._-]{1,128}$"}, "Name of the file."),
    "array": ({**_TEXT, "pattern": f"^{ARRAY}$"}, "Name of the variable or coordinate."),
    "part": ({**_TEXT, "pattern": "^(zarr[.]json|c([.][0-9]{1,9})*)$"}, "The description, or a chunk: c.<step>.0.0, steps counted from 0."),
    "code": ({**_TEXT, "enum": list(KINDS)}, "Name of the kind of problem."),
}
_HEADERS: dict[str, tuple[dict[str, object], str]] = {
    "Idempotency-Key": ({**_TEXT, "pattern": "^[A-Za-z0-9._-]{1,64}$"}, "A new one for each order; the same when it is sent again."),
    "If-Match": (
        {**_TEXT, "pattern": r'^(\*|(W/)?"b[0-9]{1,9}\.[0-9]{1,18}(-[0-9a-f]{8}(-gzip|-br|-zstd)?)?")$'},
        "The version on which the order is based; 412 if it has changed.",
    ),
    "If-Step": ({"type": "integer", "minimum": 0, "maximum": 10**9}, "The step at which the scenario must stand."),
    "Prefer": (dict(_TEXT), "wait=5: answer when the operation is over, at the latest after so many seconds."),
    "If-None-Match": (dict(_TEXT), "The tag that the client has; 304 if it still holds."),
    "Last-Event-ID": ({"type": "integer", "minimum": 0, "maximum": 10**17}, "The last event that arrived."),
}


def contract() -> dict[str, object]:
    """The whole document."""
    structs: list[type[Struct]] = [Problem]
    for route in TABLE.routes:
        replies = route.reply if isinstance(route.reply, tuple) else (route.reply,)
        structs += [each for each in (*replies, route.request) if isinstance(each, type)]
    _, schemas = msgspec.json.schema_components(dict.fromkeys(structs), ref_template="#/components/schemas/{name}")
    for kind, names in EXACTLY_ONE.items():
        if kind.__name__ in schemas:
            schemas[kind.__name__] |= {"oneOf": [_given(name) for name in names]}
    schemas = json.loads(json.dumps(schemas), object_hook=_readable)
    paths: dict[str, dict[str, object]] = {}
    for route in TABLE.routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Steppe",
            "version": version("steppe"),
            "description": "Run gridded environmental models, steer and watch them while they run.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": {str(status): _problem_of(status) for status in sorted({kind.status for kind in KINDS.values()})},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "A token of the server."},
                "session": {"type": "apiKey", "in": "cookie", "name": "steppe_8090", "description": "From /login; by port and prefix."},
            },
        },
    }


def _readable(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that generators of clients can read: each list has `items` that are a schema. Counts bound a tuple, not `items: false`."""
    if "prefixItems" in schema:
        schema.pop("items", None)
    elif schema.get("type") == "array":
        schema.setdefault("items", {})
    return schema


def _given(name: str) -> dict[str, object]:
    return {"required": [name], "properties": {name: {"const": True} if name == "end" else {"not": {"type": "null"}}}}


def _operation(route: Route) -> dict[str, object]:
    parameters = [_parameter("path", name, *_IN_PATH[name], True) for name in re.findall(r"{(\w+)}", route.path)]
    for name, key in (route.query or {}).items():
        schema = {"type": "array", "items": dict(key.schema), "maxItems": key.many} if key.many else dict(key.schema)
        if key.default not in (None, ()):
            schema["default"] = str(int(key.default)) if isinstance(key.default, bool) else key.default
        parameters.append(_parameter("query", name, schema, key.description, name in route.needed))
    for name in _headers_of(route):
        parameters.append(_parameter("header", name, *_HEADERS[name], name == "Idempotency-Key"))
    found: dict[str, object] = {"operationId": route.name, "summary": route.summary, "description": _description(route)}
    if parameters:
        found["parameters"] = parameters
    if route.request == "bytes":
        content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        found["requestBody"] = {"required": True, "content": content}
    elif isinstance(route.request, type):
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": _reference(route.request)}}}
    if route.role == "-":
        found["security"] = []
    found["responses"] = _responses(route)
    return found


def _description(route: Route) -> str:
    return "Open to all." if route.role == "-" else f"Needs the role {route.role}."


def _headers_of(route: Route) -> list[str]:
    names = ["Idempotency-Key", "If-Match", "If-Step"] if route.steering else ["Idempotency-Key"] if route.keyed else []
    if route.steering or route.name == "operation":
        names.append("Prefer")
    if 304 in route.codes:
        names.append("If-None-Match")
    return [*names, "Last-Event-ID"] if route.name == "events_stream" else names


def _parameter(where: str, name: str, schema: dict[str, Any], description: str, required: bool) -> dict[str, object]:
    example = schema.pop("example", None) if "example" in schema else schema.get("items", {}).pop("example", None)
    found = {"name": name, "in": where, "required": required, "description": description, "schema": schema}
    if schema.get("type") == "array":
        found |= {"style": "form", "explode": True}
    return found if example is None else {**found, "example": [example] if schema.get("type") == "array" else example}


_GOOD = {101: "The socket is open.", 200: "Done.", 201: "Made.", 202: "Accepted.", 204: "Done.", 304: "Not changed.", 503: "Not now."}


def statuses(route: Route) -> list[int]:
    """Every status that a route may answer."""
    return sorted({*route.codes, *(OPEN if route.role == "-" else ALWAYS)})


def _responses(route: Route) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for status in statuses(route):
        if status >= 400 and not (status == 503 and route.name in ("readyz", "page")):
            found[str(status)] = {"$ref": f"#/components/responses/{status}"}
            continue
        found[str(status)] = {"description": _GOOD[status]}
        content = {} if status in (101, 204, 304) else _content(route)
        if content:
            found[str(status)]["content"] = content
        if route.name == "log":
            found[str(status)]["headers"] = {"Link": {"description": 'rel="next": where there are more rows.', "schema": _TEXT}}
        if route.steering and status < 300:
            found[str(status)]["links"] = _links(route)
    return found


def _links(route: Route) -> dict[str, object]:
    """Where an order that was accepted is found, and how it is taken back."""
    run, number = "$request.path.run", "$response.body#/id"
    links: dict[str, object] = {"operation": {"operationId": "operation", "parameters": {"run": run, "operation": number}}}
    for kind in ("event", "trigger"):
        if route.name == f"add_{kind}":
            links[f"remove_{kind}"] = {"operationId": f"remove_{kind}", "parameters": {"run": run, kind: number}}
    return links


def _content(route: Route) -> dict[str, object]:
    """Media type -> schema of a reply."""
    replies = () if route.reply is None else route.reply if isinstance(route.reply, tuple) else (route.reply,)
    found: dict[str, object] = {}
    for reply in replies:
        if isinstance(reply, type):
            found[JSON] = {"schema": _reference(reply)}
        else:
            kind = "object" if reply == JSON or reply.endswith("+json") else "string"
            found.setdefault(reply.partition(";")[0], {"schema": {"type": kind}})
    return found


def _problem_of(status: int) -> dict[str, object]:
    return {"description": _titles(status), "content": {JSON_PROBLEM.decode(): {"schema": _reference(Problem)}}}


def _titles(status: int) -> str:
    return "; ".join(kind.title for kind in KINDS.values() if kind.status == status) + "."


def _reference(struct: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{struct.__name__}"}


def text() -> str:
    """The document as it is checked in."""
    return json.dumps(contract(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    HERE.write_text(text(), encoding="utf-8")
