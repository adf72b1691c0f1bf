"""A document as one HTML file, which needs no network: warnings first, then pictures, tables, the machine, and the data."""

import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from msgspec.structs import fields, replace

from steppe.files import write_whole, writing
from steppe.measure.laws.operation import ONE_WAY
from steppe.measure.laws.points import MB, US
from steppe.measure.records.document import Document, FitRecord, document_json, plain_values
from steppe.measure.records.measured import Measured, grouped
from steppe.measure.report.facts import STOPPED, facts_of, shown_weaknesses, warnings_of
from steppe.measure.report.law_text import line_text
from steppe.measure.report.message_text import clocks_text, recipe_text
from steppe.measure.report.pictures import bars_picture, clocks_picture, fit_picture, modes_picture, ranks_picture, sizes_picture
from steppe.measure.report.rate_text import roof_text
from steppe.measure.report.sentences import comparisons
from steppe.measure.report.tables import rate_of, series_columns
from steppe.measure.timing.rounds import OF_RANKS

MOST_DATA = 1_200_000  # letters of the data; a larger document is stored without its samples
MOST_PICTURES = 1_200_000  # letters of the pictures of fits; the others become words and tables
MOST_MODES = 12  # histograms
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22282d; background: #fff; max-width: 1120px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; border-bottom: 1px solid #b8c0c6 }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem }
.warning { background: #fdf0e6; border-left: 4px solid #c2622d; padding: .4rem .8rem; margin: .4rem 0 } .faint { color: #5c6670 }
svg { width: 100%; height: auto } .wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .1rem .7rem .1rem 0; border-bottom: 1px solid #eceff1 } th { color: #5c6670; font-weight: 500 }
th:first-child, td:first-child { text-align: left } .unsure { color: #b3261e }
summary { cursor: pointer; color: #1f5f8b }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report_html(document: Document) -> str:
    """The whole file."""
    recipe = f'<div class="wide"><pre>{escape(recipe_text(document))}</pre></div>' if document.recipe else ""
    parts = [
        f"<h1>Measured {escape(document.made)}</h1>",
        _where(document),
        _warnings(document),
        _section("Weaknesses, the greatest first", _listed("ol", [one.sentence for one in shown_weaknesses(document)])),
        _section("Variants beside each other", _listed("ul", comparisons(document.series))),
        *(_section("The model", f"<p>{escape(roof_text(roof))}</p>") for roof in document.roofs),
        _section("Recipe", recipe),
        _section("Time against size and ranks", _fits(document.fits)),
        _section("Files", _files(document)),
        _section("Codecs", sizes_picture({f"{name} [MB/s before compression]": of for name, of in _of(document, "codecs").items()})),
        _section("Files of many ranks", ranks_picture(_of(document, OF_RANKS))),
        _section("Processor and memory", _kernels(document)),
        _section("Two times instead of one", _modes(document)),
        _section("Clocks of ranks", _clocks(document)),
        _section("All series", _tables(document.series)),
        _machine(document),
        _data(document),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>Measured {escape(document.made)}</title><style>{STYLE}</style></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def write_report(document: Document, path: Path) -> None:
    """Writes the file, whole or not at all. Raises what `writing` raises."""
    with writing(path):
        write_whole(path, report_html(document).encode())


def _section(title: str, body: str) -> str:
    """A part of the page under its title; nothing without a body."""
    return body and f"<h2>{title}</h2>{body}"


def _listed(kind: str, texts: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return items and f"<{kind}>{items}</{kind}>"


def _warnings(document: Document) -> str:
    said = [*warnings_of(document), *([] if document.complete else [STOPPED])]
    unsure = sum(not one.converged for one in document.series)
    told = f"{unsure} of {len(document.series)} series ended before their median was known to 2 %: their intervals are red."
    boxes = "".join(f'<p class="warning">{escape(text)}</p>' for text in said)
    return f'{boxes}<p class="faint">{told}</p>' if unsure else boxes


def _where(document: Document) -> str:
    """The machine in a line."""
    machine = document.machine
    named = [str(machine["cpu"])] if "cpu" in machine else []
    named += [f"{machine['cores']} cores"] if "cores" in machine else []
    named += [str(machine["mpi"]["name"])] if "mpi" in machine else []
    place = machine.get("filesystem", {})
    named += [f"{place['directory']} ({place['kind']})"] if "kind" in place else []
    return f"<p>{escape(', '.join(named))}</p>" if named else ""


def _fits(fits: Sequence[FitRecord]) -> str:
    """A title, a picture while there is room, and the laws of each fit; fits with the most points get their pictures first."""
    pictures, room = [""] * len(fits), MOST_PICTURES
    for number in sorted(range(len(fits)), key=lambda number: -fits[number].points.n.size):
        picture = fit_picture(fits[number])
        room -= len(picture)
        if room < 0:
            break
        pictures[number] = picture
    parts = ""
    for fit, picture in zip(fits, pictures, strict=True):
        lines, laws, reasons = list[str](), list[str](), list[str]()
        for piece in fit.pieces:
            sizes = f"from {piece.low:.12g} to {piece.high:.12g} bytes"
            lines += [f"{line_text(line, fit.protocol)}, {sizes}" for line in piece.lines if piece.t0 is None]
            for name, law, scale, unit in (("t0", piece.t0, US / ONE_WAY[fit.protocol], "us"), ("r_inf", piece.r_inf, MB, "MB/s")):
                laws += [f"{name}(p) = {law.curve.formula(scale)} {unit}, {sizes}"] if law is not None else []
            reasons += piece.reasons
        remarks = "<br>".join(escape(text) for text in [*lines, *laws, *reasons, *fit.remarks])
        parts += f'<h3>{escape(", ".join(filter(None, fit.name.values())) or "all times")}</h3>{picture}<p class="faint">{remarks}</p>'
    return parts


def _of(document: Document, group: str) -> dict[str, list[Measured]]:
    return grouped((one for one in document.series if one.group == group), lambda one: one.operation)


def _files(document: Document) -> str:
    files = _of(document, "files")
    groups = {
        f"read, {order} [MB/s]": [one for one in files.get("read", []) if order in one.variant] for order in ("sequential", "permuted")
    }
    # durable writes are one line, however many waited together
    groups["write [MB/s]"] = [replace(one, variant=one.variant.partition(",")[0]) for one in files.get("write", [])]
    return sizes_picture({title: series for title, series in groups.items() if series})


def _kernels(document: Document) -> str:
    timed = (one for one in document.series if one.group in ("memory", "arithmetic", "functions"))
    rates = grouped(timed, lambda one: f"{one.group}, random reads" if one.unit == "reads" else one.group)
    return bars_picture(rates)


def _modes(document: Document) -> str:
    two = [one for one in document.series if len(one.modes) > 1 and one.samples]
    most = sorted(two, key=lambda one: -one.modes[1].median / one.modes[0].median)[:MOST_MODES]
    said = f"{len(two)} series gather around two times" + (f"; the {MOST_MODES} that lie furthest apart" if len(two) > MOST_MODES else "")
    return f"<p>{said}.</p>{modes_picture(most)}" if two else ""


def _clocks(document: Document) -> str:
    said = escape(clocks_text(document.clock)).replace("\n", "<br>")
    return said and f"<p>{said}</p>{clocks_picture(document.clock)}"


def _tables(series: Sequence[Measured]) -> str:
    groups = grouped(series, lambda one: (one.group, one.operation))
    columns: dict[str, Callable[[Measured], str]] = {
        "": lambda one: escape(one.kind),
        "ranks": lambda one: str(one.p),
        **series_columns("rate"),
        "rate": lambda one: f"{rate_of(one)[0]:.4g} {rate_of(one)[1]}" if rate_of(one)[0] else "-",
    }
    width = columns["+- 95 %"]
    columns["+- 95 %"] = lambda one: width(one) if one.converged else f'<span class="unsure">{width(one)}</span>'
    head = "".join(f"<th>{title}</th>" for title in columns)
    parts = ""
    for (group, operation), each in groups.items():
        rows = ""
        for one in each:
            rows += f"<tr>{''.join(f'<td>{text(one)}</td>' for text in columns.values())}</tr>"
            rows += "".join(f'<tr><td colspan="{len(columns)}" class="faint">{escape(text)}</td></tr>' for text in one.warnings)
        title = operation if operation == group else f"{group}: {operation}"
        parts += (
            f"<details><summary>{escape(title)}, {len(each)} series</summary>"
            f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div></details>'
        )
    return parts


def _machine(document: Document) -> str:
    clock = {name: value for name, value in document.clock.items() if name not in ("offsets", "drift")}
    facts = {**facts_of(document.machine), **facts_of({"clock:": clock})}
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in facts.items())
    return _section("The machine", rows and f"<table>{rows}</table>")


def _without_samples(series: dict[str, object]) -> dict[str, object]:
    """The values of a series without its samples and its defaults, which a reader puts in again."""
    defaults = {field.name: field.default_factory() if callable(field.default_factory) else field.default for field in fields(Measured)}
    return {name: "" if name == "samples" else value for name, value in series.items() if value != defaults[name]}


def _data(document: Document) -> str:
    text = document_json(document).decode()
    said = "The data is in this file."
    if len(text) > MOST_DATA:
        held = plain_values(document)
        held["series"] = [_without_samples(one) for one in held["series"]]
        text = json.dumps(held, separators=(",", ":"))
        said = "The data is in this file, without single samples: those are in the JSON file that it was made of."
    safe = text.replace("<", "\\u003c")
    return f'<p class="faint">{said}</p><script type="application/json" id="measured">{safe}</script>'
