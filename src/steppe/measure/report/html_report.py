"""A document as one HTML file, which needs no network: warnings first, then pictures, tables, the machine, and the data."""

import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from msgspec.structs import fields, replace

from steppe.files import write_whole, writing
from steppe.measure.laws.operation import ONE_WAY
from steppe.measure.laws.points import MB, US
from steppe.measure.records.document import Document, FitRecord, PieceRecord, document_json, plain_values
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
    parts = [f"<h1>Measured {escape(document.made)}</h1>", _where(document), _warnings(document)]
    if shown := shown_weaknesses(document):
        items = "".join(f"<li>{escape(one.sentence)}</li>" for one in shown)
        parts.append(f"<h2>Weaknesses, the greatest first</h2><ol>{items}</ol>")
    if said := comparisons(document.series):
        parts.append(f"<h2>Variants beside each other</h2><ul>{''.join(f'<li>{escape(text)}</li>' for text in said)}</ul>")
    for roof in document.roofs:
        parts.append(f"<h2>The model</h2><p>{escape(roof_text(roof))}</p>")
    if document.recipe:
        parts.append(f'<h2>Recipe</h2><div class="wide"><pre>{escape(recipe_text(document))}</pre></div>')
    for section in (_fits, _files, _of_ranks, _kernels, _modes, _clocks, _tables):
        parts += section(document)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>Measured {escape(document.made)}</title><style>{STYLE}</style></head>'
        f"<body>{''.join(parts)}{_machine(document)}{_data(document)}</body></html>\n"
    )


def write_report(document: Document, path: Path) -> None:
    """Writes the file, whole or not at all. Raises what `writing` raises."""
    with writing(path):
        write_whole(path, report_html(document).encode())


def _warnings(document: Document) -> str:
    stopped = [] if document.complete else [STOPPED]
    said = [*warnings_of(document), *stopped]
    unsure = sum(not one.converged for one in document.series)
    told = f"{unsure} of {len(document.series)} series ended before their median was known to 2 %: their intervals are red."
    boxes = "".join(f'<p class="warning">{escape(text)}</p>' for text in said)
    return f'{boxes}<p class="faint">{told}</p>' if unsure else boxes


def _where(document: Document) -> str:
    """The machine in a line."""
    machine = document.machine
    named = [str(machine[name]) for name in ("cpu",) if name in machine]
    named += [f"{machine['cores']} cores"] if "cores" in machine else []
    named += [str(machine["mpi"]["name"])] if "mpi" in machine else []
    place = machine.get("filesystem", {})
    named += [f"{place['directory']} ({place['kind']})"] if "kind" in place else []
    return f"<p>{escape(', '.join(named))}</p>" if named else ""


def _fits(document: Document) -> list[str]:
    parts = ["<h2>Time against size and ranks</h2>"] if document.fits else []
    pictures = _fit_pictures(document.fits)
    for number, fit in enumerate(document.fits):
        lines = [f"{line_text(line, fit.protocol)}, {_sizes(piece)}" for piece in fit.pieces if piece.t0 is None for line in piece.lines]
        laws = [
            f"{name}(p) = {law.curve.formula(scale)} {unit}, {_sizes(piece)}"
            for piece in fit.pieces
            for name, law, scale, unit in (("t0", piece.t0, US / ONE_WAY[fit.protocol], "us"), ("r_inf", piece.r_inf, MB, "MB/s"))
            if law is not None
        ]
        reasons = [reason for piece in fit.pieces for reason in piece.reasons]
        remarks = "".join(f"<br>{escape(text)}" for text in [*lines, *laws, *reasons, *fit.remarks])
        title = ", ".join(fit.name.values()) or "all times"
        parts.append(f'<h3>{escape(title)}</h3>{pictures.get(number, "")}<p class="faint">{remarks.removeprefix("<br>")}</p>')
    return parts


def _sizes(piece: PieceRecord) -> str:
    return f"from {piece.low:.12g} to {piece.high:.12g} bytes"


def _fit_pictures(fits: Sequence[FitRecord]) -> dict[int, str]:
    """Pictures of as many fits as there is room for, by number of the fit; those with the most points first."""
    found: dict[int, str] = {}
    room = MOST_PICTURES
    for number in sorted(range(len(fits)), key=lambda number: -fits[number].points.n.size):
        picture = fit_picture(fits[number])
        room -= len(picture)
        if room < 0:
            break
        found[number] = picture
    return found


def _of(document: Document, group: str) -> dict[str, list[Measured]]:
    return grouped((one for one in document.series if one.group == group), lambda one: one.operation)


def _files(document: Document) -> list[str]:
    files, coded = _of(document, "files"), _of(document, "codecs")
    parts = []
    if files:
        groups = {
            f"read, {order} [MB/s]": [one for one in files.get("read", []) if order in one.variant] for order in ("sequential", "permuted")
        }
        groups["write [MB/s]"] = _shortened(files.get("write", []))
        parts.append(f"<h2>Files</h2>{sizes_picture({title: series for title, series in groups.items() if series})}")
    if coded:
        named = {f"{name} [MB/s before compression]": series for name, series in coded.items()}
        parts.append(f"<h2>Codecs</h2>{sizes_picture(named)}")
    return parts


def _of_ranks(document: Document) -> list[str]:
    found = [one for one in document.series if one.group == OF_RANKS]
    if not found:
        return []
    return [f"<h2>Files of many ranks</h2>{ranks_picture(found)}"]


def _shortened(series: Sequence[Measured]) -> list[Measured]:
    """Durable writes as one line, however many waited together."""
    return [replace(one, variant=one.variant.partition(",")[0]) for one in series]


def _kernels(document: Document) -> list[str]:
    timed = (one for one in document.series if one.group in ("memory", "arithmetic", "functions"))
    rates = grouped(timed, lambda one: f"{one.group}, random reads" if one.unit == "reads" else one.group)
    return [f"<h2>Processor and memory</h2>{bars_picture(rates)}"] if rates else []


def _modes(document: Document) -> list[str]:
    two = [one for one in document.series if len(one.modes) > 1 and one.samples]
    if not two:
        return []
    most = sorted(two, key=lambda one: -one.modes[1].median / one.modes[0].median)[:MOST_MODES]
    said = f"{len(two)} series gather around two times" + (f"; the {MOST_MODES} that lie furthest apart" if len(two) > MOST_MODES else "")
    return [f"<h2>Two times instead of one</h2><p>{said}.</p>{modes_picture(most)}"]


def _clocks(document: Document) -> list[str]:
    offsets = document.clock.get("offsets", [])
    if not offsets:
        return []
    said = escape(clocks_text(offsets, document.clock.get("drift", []))).replace("\n", "<br>")
    return [f"<h2>Clocks of ranks</h2><p>{said}</p>{clocks_picture(document.clock)}"]


def _tables(document: Document) -> list[str]:
    groups = grouped(document.series, lambda one: (one.group, one.operation))
    columns: dict[str, Callable[[Measured], str]] = {
        "": lambda one: escape(one.kind),
        "ranks": lambda one: str(one.p),
        **series_columns("rate"),
        "rate": lambda one: f"{rate_of(one)[0]:.4g} {rate_of(one)[1]}" if rate_of(one)[0] else "-",
    }
    width = columns["+- 95 %"]
    columns["+- 95 %"] = lambda one: width(one) if one.converged else f'<span class="unsure">{width(one)}</span>'
    head = "".join(f"<th>{title}</th>" for title in columns)
    parts = ["<h2>All series</h2>"] if groups else []
    for (group, operation), series in groups.items():
        rows = ""
        for one in series:
            rows += f"<tr>{''.join(f'<td>{text(one)}</td>' for text in columns.values())}</tr>"
            rows += "".join(f'<tr><td colspan="{len(columns)}" class="faint">{escape(text)}</td></tr>' for text in one.warnings)
        title = operation if operation == group else f"{group}: {operation}"
        parts.append(
            f"<details><summary>{escape(title)}, {len(series)} series</summary>"
            f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div></details>'
        )
    return parts


def _machine(document: Document) -> str:
    clock = {name: value for name, value in document.clock.items() if name not in ("offsets", "drift")}
    facts = {**facts_of(document.machine), **facts_of({"clock:": clock})}
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in facts.items())
    return f"<h2>The machine</h2><table>{rows}</table>" if facts else ""


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
