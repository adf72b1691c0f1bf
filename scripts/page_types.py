"""Writes web/src/state/contract.ts, the page's types of replies, from the contract: `python scripts/page_types.py`."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "web" / "src" / "state" / "contract.ts"
NAMES = {  # schema -> what the page calls it
    "ScenarioInfo": "Scenario",
    "Engine": "Engine",
    "Info": "Info",
    "Levels": "Levels",
    "VariableInfo": "Variable",
    "CheckpointInfo": "Checkpoint",
    "OperationInfo": "Operation",
    "Ordered": "Ordered",
    "Preview": "Preview",
    "Problem": "Problem",
}
MAYBE = ("variable", "value", "allowed", "nearest", "position")  # members of a problem that are left out where there is nothing to say
WIDTH = 140
HEAD = "/** Replies of the HTTP API. Made by scripts/page_types.py from the contract of the server. */\n"


def page() -> str:
    """The text of the file."""
    contract = json.loads((ROOT / "src" / "steppe" / "server" / "openapi.json").read_text())
    schemas = contract["components"]["schemas"]
    return HEAD + "".join(_interface(schemas[name], name) for name in NAMES)


def _interface(schema: Mapping[str, Any], name: str) -> str:
    rows = []
    for member, what in schema["properties"].items():
        rows += [f"  /** {what['description']} */"] if "description" in what else []
        row = f"  {member}{'?' if name == 'Problem' and member in MAYBE else ''}: {_type(what)};"
        rows.append(row if len(row) <= WIDTH else row.replace(": ", ":\n    | ", 1).replace('" | ', '"\n    | '))
    said = f"\n/** {schema['description']} */" if "description" in schema else ""
    return f"{said}\nexport interface {NAMES[name]} {{\n" + "\n".join(rows) + "\n}\n"


def _type(what: Mapping[str, Any]) -> str:
    if "$ref" in what:
        return NAMES[what["$ref"].rpartition("/")[2]]
    if "enum" in what:
        return " | ".join(json.dumps(each) for each in what["enum"])
    if "anyOf" in what:
        return " | ".join(_type(each) for each in what["anyOf"])
    if "prefixItems" in what:
        return f"[{', '.join(_type(each) for each in what['prefixItems'])}]"
    match what.get("type"):
        case "array":
            inner = _type(what["items"])
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        case "object":
            return f"Record<string, {_type(what.get('additionalProperties') or {})}>"
        case "integer" | "number":
            return "number"
        case "string" | "boolean" | "null" as kind:
            return str(kind)
    return "unknown"


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.exit(0)
