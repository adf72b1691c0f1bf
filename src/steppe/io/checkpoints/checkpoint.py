"""Checkpoints: all that a run needs to continue. A checkpoint is whole and verified, or absent.

    checkpoints/0000003840/
      arrays.bin        numbers that hold for all cells, then arrays of all cells, one after the other
      manifest.json     step, date, identity of the run; name, type and shape of each array; a hash of each tile, and of itself

A checkpoint is made in a folder aside, its manifest last, and renamed when it is durable. A tile is written by the rank that has its
first cell, so the bytes do not depend on the number of ranks, and any number of them reads its part of what any other number wrote.
"""

import os
import shutil
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from steppe.array_types import Array
from steppe.errors import DamagedError, FolderError
from steppe.failpoint import reach
from steppe.files import place, writing
from steppe.grid import Ownership, tiles
from steppe.io.checkpoints.contents import HEAD, Contents, ContentsEntry, Digests, TileRun, pieces
from steppe.io.checkpoints.draft import ARRAYS
from steppe.io.identity import check_identity
from steppe.io.sealed import read_sealed, write_sealed
from steppe.io.shard import write_durable
from steppe.io.shard_file import read_at

FORMAT = 3  # a reader refuses any other
MANIFEST = "manifest.json"
PINNED = "pinned"  # an empty file: this one stays
KEPT = 2  # checkpoints without a pin


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint. manifest: as given to `seal`. step: steps done."""

    path: Path
    step: int
    identity: Mapping[str, str]
    manifest: Mapping[str, Any]
    contents: Contents
    digests: Mapping[int, bytes]

    @staticmethod
    def begin(folder: Path, step: int, applied: int | None = None) -> Path:
        """Makes the folder aside in which the checkpoint of a step is written, by one rank, before any writes.

        applied: the number of the last action at this step, in a steered run. There step and action name the checkpoint, so the same
        position has the same name.

        Raises
        ------
        NoSpaceError, Failure
            The system refused.
        """
        path = folder / f"{step:010d}"
        if applied is None:
            # The same step again, with another state after a set: beside the first, which counts until this one is whole.
            again = [_key(other)[1] for other in _found(folder) if _key(other)[0] == step]
            path = path.with_name(f"{path.name}-{max(again) + 1}") if again else path
        elif applied:
            path = path.with_name(f"{path.name}-{applied}")
        aside = path.with_name(path.name + ".tmp")
        with writing(aside):
            shutil.rmtree(aside, ignore_errors=True)
            if not folder.is_dir():
                folder.mkdir()
            aside.mkdir()
        return aside

    @staticmethod
    def seal(
        aside: Path,
        contents: Contents,
        digests: Mapping[int, bytes],
        manifest: Mapping[str, object],
        identity: Mapping[str, str],
    ) -> Path:
        """Makes a checkpoint of the tiles that all ranks wrote.

        Parameters
        ----------
        aside
            From `begin`.
        contents, digests
            Of the drafts: the same on all ranks; the hashes of all tiles.
        manifest
            All else that a run needs to continue, as JSON: date, calendar, records of the output ...
        identity
            Properties that a run must share to continue from here: name in words ("parameters") -> digest.

        Returns
        -------
        Path
            The folder of the checkpoint, durable.

        Raises
        ------
        NoSpaceError
            The disk is full; the checkpoints before are untouched.
        """
        path = aside.with_name(aside.name.removesuffix(".tmp"))
        assert reach("checkpoint.part_written")
        try:
            content = {
                "format": FORMAT,
                "step": _key(path)[0],
                "identity": dict(identity),
                "cells": contents.n_cells,
                "arrays": {name: {"dtype": entry.dtype, "shape": list(entry.shape)} for name, entry in contents.entries.items()},
                "xxh3": [digests[tile].hex() for tile in sorted(digests)],
                "manifest": dict(manifest),
            }
            write_sealed(aside / MANIFEST, content)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        with writing(path):
            if path.exists():  # the same state, computed again after this one was found damaged
                shutil.rmtree(path)
            place(aside, path)
            assert reach("checkpoint.renamed")
        return path

    @staticmethod
    def prune(path: Path, needed: str = "") -> None:
        """Removes the checkpoints of steps later than the one at `path`, and of the others all but the newest `KEPT`.

        needed: the name of one that stays.

        Called when the progress file names `path`, since it takes a quarter of the time of writing a checkpoint.

        Raises
        ------
        Failure
            The system refused.
        """
        found = [other for other in _found(path.parent) if other == path or not (other / PINNED).exists()]
        at = found.index(path)
        with writing(path):
            for other in (*found[:at], *found[at + KEPT :]):  # of a future that was given up, and the oldest
                if other.name != needed:
                    shutil.rmtree(other)

    @staticmethod
    def pin(path: Path) -> None:
        """Keeps a checkpoint when newer ones are made."""
        write_durable(path / PINNED, b"")

    @classmethod
    def remove(cls, folder: Path, identity: Mapping[str, str], which: Callable[["Checkpoint"], bool]) -> None:
        """Removes checkpoints of a future that was given up; damaged ones stay, for `newest` reports them."""
        for path in _found(folder):
            with suppress(DamagedError):
                if which(cls.open(path, identity)):
                    with writing(path):
                        shutil.rmtree(path)

    @classmethod
    def newest(
        cls,
        folder: Path,
        identity: Mapping[str, str],
        say: Callable[[str], None],
        within: Callable[["Checkpoint"], bool] = lambda checkpoint: True,
        steps: Container[int] | None = None,
    ) -> "Checkpoint | None":
        """The newest whole checkpoint for which `within` is true; None if there is none.

        steps: only checkpoints of these steps are opened; None: all.

        A damaged one is passed over, and `say` gets its name. Left-overs of a killed writer are removed: only the holder of the
        run folder may call this.

        Raises
        ------
        FolderError
            The newest whole one belongs to another run; the message names the differences.
        DamagedError
            There are checkpoints, and none is whole.
        """
        with writing(folder):
            for left_over in folder.glob("*.tmp"):
                shutil.rmtree(left_over)
        found, damaged = [path for path in _found(folder) if steps is None or _key(path)[0] in steps], 0
        for path in found:
            try:
                checkpoint = cls.open(path, identity)
                if not within(checkpoint):
                    continue
                checkpoint.verify()
            except DamagedError as error:
                damaged += 1
                say(f"{error} The checkpoint before it is taken.")
            else:
                return checkpoint
        if damaged == len(found) > 0:
            raise DamagedError(f'None of the {len(found)} checkpoints in "{folder}" is whole. Start from the beginning with --fresh.')
        return None

    @classmethod
    def open(cls, path: Path, identity: Mapping[str, str] | None) -> "Checkpoint":
        """One checkpoint, its manifest verified.

        Raises
        ------
        DamagedError
            The manifest is missing or damaged.
        FolderError
            It belongs to another run, or another version of Steppe wrote it.
        """
        try:
            content = read_sealed(path / MANIFEST, "")
        except FileNotFoundError:
            raise DamagedError(f'"{path / MANIFEST}" is missing.') from None
        if content["format"] > FORMAT:
            raise FolderError(f'"{path}" has format {content["format"]}, this Steppe reads up to {FORMAT}. Install a newer Steppe.')
        if content["format"] < FORMAT:
            raise FolderError(f'"{path}" has format {content["format"]} of an older Steppe, this one reads {FORMAT}. Start with --fresh.')
        if identity is not None:
            check_identity(path, content["identity"], identity)
        entries = {name: ContentsEntry(entry["dtype"], tuple(entry["shape"])) for name, entry in content["arrays"].items()}
        digests = {tile: bytes.fromhex(digest) for tile, digest in enumerate(content["xxh3"], HEAD)}
        return cls(path, content["step"], content["identity"], content["manifest"], Contents(content["cells"], entries), digests)

    @staticmethod
    def all(folder: Path) -> list[Path]:
        """All checkpoints of a folder, newest first, whole or not."""
        return _found(folder)

    @property
    def behind(self) -> str | None:
        """Name of the earlier checkpoint from which the last step is computed again, "" for the initial state; None: unknown."""
        return str(self.manifest["behind"][0]) if "behind" in self.manifest else None

    @property
    def arrays(self) -> Collection[str]:
        """The names of its arrays."""
        return self.contents.entries

    def verify(self) -> None:
        """Reads all bytes.

        Raises
        ------
        DamagedError
            A hash is wrong, or the file has another size.
        """
        for _ in self._arrays(range(len(tiles(self.contents.n_cells)))):
            pass

    def load(self, deal: Ownership) -> dict[str, Array]:
        """Every array, of the cells of one rank: without dimensions, or (..., own cells).

        Raises
        ------
        DamagedError
            A hash is wrong, or the file has another size.
        """
        held = [each.tile for each in deal.held]
        places = pieces(deal.held, held, self.contents.n_cells)
        found: dict[str, Array] = {}
        for name, values in self._arrays(held):
            found[name] = np.empty((*values.shape[:-1], len(deal.mine)), values.dtype) if values.ndim else values
            for columns, mine in places if values.ndim else ():
                found[name][..., mine] = values[..., columns]
        return {name: found[name] for name in self.contents.entries}

    def read(self, name: str) -> Array:
        """One array, of all cells.

        Raises
        ------
        DamagedError
            There is no such array, or it is damaged.
        """
        if name not in self.arrays:
            raise DamagedError(f'"{self.path}" has no array "{name}", only {", ".join(self.arrays)}. It was written by another version.')
        return self.load(Ownership.alone(self.contents.n_cells))[name]

    def _arrays(self, wanted: Sequence[int]) -> Iterator[tuple[str, Array]]:
        """Name and values of every array, of the cells of some ascending tiles. They are verified only at the end of all."""
        path, contents = self.path / ARRAYS, self.contents
        stretches, numbers = TileRun.of(wanted, contents.n_cells), xxhash.xxh3_128()
        digests = Digests(stretches, contents.n_cells)
        width = sum(len(stretch.cells) for stretch in stretches)
        try:
            with open(path, "rb", buffering=0) as file:
                length = os.fstat(file.fileno()).st_size
                if length != contents.size:
                    raise DamagedError(f'"{path}" has {length} bytes, {contents.size} were written.')
                for name, entry, offset in contents.numbers():
                    data = np.empty(entry.nbytes, np.uint8)
                    read_at(file.fileno(), str(path), offset, data)
                    numbers.update(data.data)
                    yield name, data.view(entry.dtype).reshape(())
                for name, entry, offset in contents.of_cells():
                    values = np.empty((entry.rows, width), entry.dtype)
                    for row, stretch in product(range(entry.rows), stretches):
                        piece = values[row, stretch.columns]
                        read_at(file.fileno(), str(path), stretch.place(entry, offset, row), piece.view(np.uint8))
                        digests.add(stretch, piece)
                    yield name, values.reshape(*entry.shape[:-1], width)
        except OSError as error:
            raise DamagedError(f'"{path}" cannot be read ({error.strerror}).') from None
        found = {HEAD: numbers.digest(), **digests.found()}
        if any(digest != self.digests.get(tile) for tile, digest in found.items()):
            raise DamagedError(f'"{path}" is damaged: its hash is wrong.')


def _key(path: Path) -> tuple[int, int]:
    step, _, again = path.name.removesuffix(".tmp").partition("-")
    return int(step), int(again or 0)


def _found(folder: Path) -> list[Path]:
    """The checkpoints of a folder, newest first."""
    names = folder.glob("[0-9]" * 10 + "*") if folder.is_dir() else ()
    return sorted((path for path in names if path.suffix != ".tmp"), key=_key, reverse=True)
