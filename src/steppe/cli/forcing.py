"""`steppe forcing`: checks forcing stores, and makes fast or small copies of them."""

import json as json_format
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from steppe.cli.commands import COMMANDS
from steppe.cli.making import CountBar
from steppe.errors import Exit, RunFileError

forcing = App(name="forcing", help=COMMANDS["forcing"], help_format="plaintext")


@forcing.command
def check(store: Path, /, *, json: bool = False) -> Exit:
    """Read every value of a forcing store and of its fast copy.

    The report lists missing values, values outside the limits of the store, and tmin above tmax, with day and cell. Exit code 2: the
    report lists problems; 1: a file is damaged; 0: neither.

    Examples:

        steppe forcing check weather.zarr
        steppe forcing check weather.zarr --json

    Parameters
    ----------
    store
        The forcing store.
    json
        The report as JSON on standard output.
    """
    from steppe.io import ForcingStore, check_pack, limits_of, scan

    held = ForcingStore.open(store)
    found = [str(problem) for problem in scan(store, limits_of(held))]
    good, stale = check_pack(held)
    if json:
        sys.stdout.write(json_format.dumps({"problems": found, "packed": good, "stale": stale}, indent=2) + "\n")
        return Exit.MISTAKE if found else Exit.DONE
    for text in found:
        sys.stderr.write(f"steppe: {text}\n")
    for name, stored in held.variables.items():
        low, high = stored.low, stored.high
        sys.stdout.write(f"{name}: {stored.axis.rows:,} rows, {stored.axis.period()}, {low:g} to {high:g} {stored.units}\n")
    copy = f"{good} files, each equal to its shard" if good else "none; `steppe forcing pack` makes one"
    sys.stdout.write(f"fast copy: {copy}{f'; {stale} of older shards, not used' if stale else ''}\n")
    sys.stdout.write(f"Problems: {len(found)}.\n" if found else "Nothing is wrong.\n")
    return Exit.MISTAKE if found else Exit.DONE


@forcing.command
def pack(
    store: Path,
    /,
    *,
    raw: Annotated[bool, Parameter(negative=())] = False,
    bits: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Make the fast copy of a forcing store, or bring it up to date.

    Runs read the copy instead of the store's own shards, without an option: the same values, faster. It lies in the store, under pack/,
    and may be removed at any time. Without --raw or --bits it is raw if that fits in half of this machine's memory, else in bits.

    Examples:

        steppe forcing pack weather.zarr
        steppe forcing pack australia.zarr --bits

    Parameters
    ----------
    store
        The forcing store.
    raw
        Plain integers: nothing to decode, 2 bytes a value.
    bits
        In few bits: a third of the size of --raw, decoded at ten thousand million values a second.
    """
    if raw and bits:
        raise RunFileError("Both --raw and --bits are given. Choose one.")
    from steppe.io import pack_store

    with CountBar("files") as progress:
        made = pack_store(store, "raw" if raw else "bits" if bits else None, lambda done, of: progress(done / of))
    times = made.bytes / made.of if made.of else 0.0
    sys.stdout.write(f"{made.files} files, {made.kind}, {made.bytes / 1e6:,.0f} MB: {times:.2f} times the shards.\n")


@forcing.command
def archive(store: Path, target: Path, /, *, quiet: bool = False) -> None:
    """Make a small copy of a forcing store, to archive it.

    The copy has the same values under a slower codec (zstd): it is a quarter smaller and read three times slower. Runs read it like any
    forcing store, and as fast after `steppe forcing pack`. A run that began with one store does not continue with the other.

    Examples:

        steppe forcing archive weather.zarr kept.zarr

    Parameters
    ----------
    store
        The forcing store.
    target
        The store to make.
    quiet
        No progress, and no size.
    """
    from steppe.io import archive_store

    with CountBar("files", quiet) as progress:
        made = archive_store(store, target, progress)
    if not quiet:
        sys.stdout.write(
            f"{target}: {made.files} files, {made.after / 1e6:,.1f} MB: {made.after / max(made.before, 1):.2f} times the shards.\n"
        )
