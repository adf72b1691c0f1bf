"""`steppe measure`: measures the machine, and fits laws to the times."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from steppe.cli.commands import COMMANDS
from steppe.cli.measure_all import measure_all
from steppe.cli.measure_compare import compare
from steppe.cli.measure_files import files
from steppe.cli.measure_kernels import kernels
from steppe.cli.measuring import Passes, Targets, is_stopped, on_ranks
from steppe.errors import Exit, Mistake

if TYPE_CHECKING:
    from steppe.comm.raw import Raw
    from steppe.measure import Document, OperationFit

measure = App(name="measure", help=COMMANDS["measure"], help_format="plaintext")
measure.command(measure_all, name="all")
measure.command(compare)
measure.command(files)
measure.command(kernels)


@measure.command
def fit(
    file: Path | None = None,
    /,
    *,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    protocol: Literal["oneway", "pingpong", "ack"] | None = None,
    spread: float | None = None,
    laws: Path | None = None,
    noise: float | None = None,
    outliers: float | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    ranks: Annotated[list[int] | None, Parameter(consume_multiple=True)] = None,
    json: Path | None = None,
) -> None:
    """Fit t(n, p) = t0(p) + n / r_inf(p) to a table of measured times, and list weaknesses.

    The table is CSV, or a JSON file of `steppe measure messages` or `fit`: its times are fitted again.

    Columns: n or bytes, p or ranks, and t, time or average with its unit, as t_us. Repeats are more lines. Any other column separates
    series; a column named operation allows comparing them. With --laws the command makes times from known laws, with noise, and finds
    the laws again.

    Examples:

        steppe measure fit times.csv --protocol pingpong
        steppe measure fit times.csv --unit us --json fit.json
        steppe measure fit --laws laws.json --noise 0.05 --outliers 0.05 \\
            --repeats 100 --seed 1

    Parameters
    ----------
    file
        The table, CSV with a header; or a file that ends in .json.
    unit
        Unit of times whose column does not name it: s, ms, us or ns.
    protocol
        Meaning of a time: oneway, the default; pingpong, there and back; ack, there and an empty answer back.
    spread
        Relative scatter of a single time, if there are no repeats; default 0.03.
    laws
        Laws as formulas in p, JSON; instead of a table.
    noise
        With --laws: standard deviation relative to the time; default 0.05.
    outliers
        With --laws: the share of times that are 3 to 10 times as long; default 0.05.
    repeats
        With --laws: times for each size and p; default 100.
    seed
        With --laws: seed of the random numbers; default 1.
    ranks
        With --laws: the values of p; 2 4 8 12 16 by default.
    json
        Write the fits to this file, for `steppe measure predict` and others.
    """
    from steppe.files import check_writable
    from steppe.measure import find_weaknesses, fits_of_file, laws_of, lines_of, read_table, remarks_of, weaknesses_text
    from steppe.measure import fit as fit_points

    if (file is None) == (laws is None):
        raise Mistake("Give a table of times, or known laws with --laws; one of them.")
    of_document = file is not None and file.suffix == ".json"
    _refuse_unused(
        {"--unit": unit, "--protocol": protocol, "--spread": spread} if file is None or of_document else {},
        {"--noise": noise, "--outliers": outliers, "--repeats": repeats, "--seed": seed, "--ranks": ranks} if laws is None else {},
    )
    if spread is not None and not 0.0 < spread < 1.0:
        raise Mistake(f"--spread {spread:g} must lie between 0 and 1: it is relative to the time.")
    check_writable(json)
    if file is not None and json is not None and json.exists() and json.samefile(file):
        raise Mistake(f'--json "{json}" is the table itself. Choose another file.')
    if file is not None:
        series = [] if of_document else read_table(file, unit, spread)
        fits = fits_of_file(file) if of_document else [fit_points(one.points, one.name, protocol or "oneway") for one in series]
        sys.stdout.write(lines_of(fits) + "".join(f"\n{text}" for text in (remarks_of(series, fits), *map(laws_of, fits)) if text))
    else:
        assert laws is not None
        noise, outliers = (0.05 if share is None else share for share in (noise, outliers))
        fits = _rehearsed(laws, noise, outliers, 100 if repeats is None else repeats, 1 if seed is None else seed, ranks)
    found = find_weaknesses(fits)
    sys.stdout.write(f"\n{weaknesses_text(found)}" if found else "")
    if json is not None:
        from steppe.measure import Document, made_now, record_fit, write_document

        write_document(Document(made=made_now(), fits=[record_fit(one) for one in fits], weaknesses=found), json)


def _refuse_unused(of_tables: Mapping[str, object], of_laws: Mapping[str, object]) -> None:
    """Raises `Mistake` for a given option of the other way to fit."""
    for options, where in ((of_tables, "a table of times"), (of_laws, "known laws (--laws)")):
        given = [name for name, value in options.items() if value is not None]
        if given:
            one = len(given) == 1
            raise Mistake(f"{' and '.join(given)} belong{'s' if one else ''} to {where}. Leave {'it' if one else 'them'} out.")


def _rehearsed(laws: Path, noise: float, outliers: float, repeats: int, seed: int, ranks: list[int] | None) -> "list[OperationFit]":
    from steppe.measure import read_formulas, rehearsals_text, rehearse

    for name, value, low, high in (("noise", noise, 0.0, 1.0), ("outliers", outliers, 0.0, 0.5)):
        if not low <= value < high:
            raise Mistake(f"--{name} {value:g} must lie from {low:g} to below {high:g}.")
    for name, value in (("repeats", repeats), *(("ranks", p) for p in ranks or ())):
        least = 1 if name == "repeats" else 2
        if value < least:
            raise Mistake(f"--{name} {value} must be at least {least}.")
    found = rehearse(read_formulas(laws), noise, outliers, repeats, seed, *([ranks] if ranks else []))
    sys.stdout.write(rehearsals_text(found))
    return [one.fit for one in found if one.fit is not None]


@measure.command
def predict(file: Path, /, *, ranks: int, bytes: int = 0) -> None:
    """Predict the time of an operation on ranks or for sizes that were not measured, with 95 % intervals.

    Examples:

        steppe measure predict fit.json --ranks 64
        steppe measure predict fit.json --ranks 64 --bytes 1048576

    Parameters
    ----------
    file
        A file of `steppe measure fit --json` or `steppe measure messages --json`.
    ranks
        The number of ranks.
    bytes
        The size of the message [bytes].
    """
    from steppe.measure import fits_of_file, prediction_text
    from steppe.measure import predict as predict_time

    said, mistakes = "", []
    for found in fits_of_file(file):
        try:
            said += prediction_text(found, predict_time(found, bytes, ranks))
        except Mistake as mistake:
            mistakes.append(str(mistake))
    if not said:
        raise Mistake(mistakes[0] + (f" Nor can {len(mistakes) - 1} other operations be predicted there." if mistakes[1:] else ""))
    sys.stdout.write(said + "".join(f"{mistake}\n" for mistake in mistakes))


@measure.command
def messages(
    *,
    quick: bool = False,
    passes: Passes = None,
    threads: Literal["single", "funneled", "serialized", "multiple"] = "single",
    beside: Path | None = None,
    oversubscribe: bool = False,
    start: Literal["barrier", "window"] = "barrier",
    recipe: Literal["minho", "advise"] | None = None,
    json: Path | None = None,
    html: Path | None = None,
) -> Exit:
    """Measure messages between ranks: point to point and collective, with the machine's clock, and fit them.

    There are five passes over all series. In each a series continues until its median is known to 2 %, or its time is over. An interval
    that the passes leave wider is printed in ().

    Write mpiexec -n 2 before each of these, or as many ranks as there are cores:

    Examples:

        steppe measure messages --quick
        steppe measure messages --json machine.json
        steppe measure messages --quick --threads multiple --json multiple.json
        steppe measure messages --quick --beside multiple.json --json single.json
        steppe measure messages --start window
        steppe measure messages --recipe minho

    Parameters
    ----------
    quick
        Few sizes, 2 ranks and all: under a minute.
    passes
        Passes over all series, 5 by default. Fewer take less time and leave wider intervals.
    threads
        The thread level of MPI: single, funneled, serialized, or multiple, which costs time in every call.
    beside
        A file of this command with another thread level, or with asynchronous progress: the report compares the costs.
    oversubscribe
        Measure although there are more ranks than cores.
    start
        How ranks begin a collective operation: after a barrier, or all at one time of the clock (window).
    recipe
        The method of a paper: minho, the least of 5 means of 20 (Santos et al. 1997); advise, first messages and means of 1,000 (1995).
    json
        Write all samples, the machine and the fits to this file.
    html
        Write a report with pictures to this file.
    """
    from steppe.comm import find_launch

    launch = find_launch()
    if launch is None:
        raise Mistake("Messages need at least 2 ranks; start with mpiexec -n 2 steppe measure messages.")

    def check() -> Targets:
        options = {"--quick": quick, "--passes": passes is not None, "--beside": beside is not None, "--start window": start == "window"}
        given = [text for text, there in options.items() if there]
        if recipe is not None and given:
            raise Mistake(f"--recipe {recipe} determines the series and how ranks begin. Leave out {' and '.join(given)}.")
        return Targets(json, html)

    def work(raw: "Raw") -> "tuple[Document, list[OperationFit]]":
        from steppe.cli.making import CountBar
        from steppe.measure import MessageOptions, measure_messages

        with CountBar("messages", quiet=raw.rank > 0) as tell:
            options = MessageOptions(quick, oversubscribe, beside, start, recipe, passes)
            return measure_messages(raw, options, tell, is_stopped)

    def finish(found: "tuple[Document, list[OperationFit]]", targets: Targets) -> Exit:
        from steppe.measure import messages_text

        return targets.finish(found[0], messages_text(*found))

    return on_ranks(launch, check, work, finish, threads)


@measure.command
def report(file: Path, /, *, html: Path | None = None) -> None:
    """Draw a measurement or a fit as one HTML file that needs no network: warnings, pictures, tables, the machine, the data.

    Examples:

        steppe measure report machine.json
        steppe measure report disk.json --html disk.html

    Parameters
    ----------
    file
        A file of `steppe measure ... --json`.
    html
        The file to write; by default beside the first one.
    """
    from steppe.files import check_writable
    from steppe.measure import read_document, write_report

    path = html or file.with_suffix(".html")
    check_writable(path)
    document = read_document(file)
    write_report(document, path)
    sys.stdout.write(f"{path}\n")
