"""Checkpoints: everything a run needs to go on, whole and verified, or not there.

    checkpoints/0000003840/
      arrays.bin        the arrays one after another, little-endian, each beginning at a multiple of 64 bytes
      manifest.json     step, date, identity of the run; name, type, shape and place of each array; hash of arrays.bin and of itself

A checkpoint is made in a folder aside, its manifest last, and renamed when it is durable. Arrays are kept whole, cells last and in the
order of the grid, so that any number of ranks reads its part of what any other number wrote.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from steppe.errors import DamagedError, Failure, FolderError
from steppe.io.identity import check_identity
from steppe.io.sealed import read_sealed, write_sealed
from steppe.io.shard import sync_folder, writing

Array = NDArray[Any]

FORMAT = 1  # a reader refuses a greater one
MANIFEST = "manifest.json"
ALIGNMENT = 64  # bytes: a cache line
BLOCK = 1 << 24  # bytes hashed at a time


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint. manifest: what `write` was given. step: steps done."""

    path: Path
    step: int
    identity: Mapping[str, str]
    manifest: Mapping[str, Any]
    arrays: Mapping[str, Mapping[str, Any]]  # name -> dtype, shape, offset

    @staticmethod
    def write(
        folder: Path, step: int, arrays: Mapping[str, Array], manifest: Mapping[str, Any], identity: Mapping[str, str], keep: int = 2
    ) -> Path:
        """Writes a checkpoint and removes all but the newest `keep`, and those of later steps (of a future that was given up).

        Parameters
        ----------
        folder
            Of the checkpoints of a run; made when it is not there.
        step
            Steps done.
        arrays
            Name -> numbers of any shape, cells last.
        manifest
            What else is needed, as JSON: date, calendar, records of the output, position of the log ...
        identity
            What a run must agree in to go on from here: name in words ("parameters") -> digest.

        Returns
        -------
        Path
            The folder of the checkpoint, durable.

        Raises
        ------
        NoSpaceError
            The disk is full; the checkpoints before are untouched.
        """
        path = folder / f"{step:010d}"
        # The same step again, with another state after somebody set something: beside the first, which is good until this one is.
        again = [_key(other)[1] for other in _found(folder) if _key(other)[0] == step]
        path = path.with_name(f"{path.name}-{max(again) + 1}") if again else path
        aside = path.with_name(path.name + ".tmp")
        shutil.rmtree(aside, ignore_errors=True)
        try:
            described, size, digest = _write_arrays(aside / "arrays.bin", arrays)
            content = {
                "format": FORMAT,
                "step": step,
                "identity": dict(identity),
                "arrays": described,
                "size": size,
                "xxh3": digest,
                "manifest": dict(manifest),
            }
            write_sealed(aside / MANIFEST, content)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        with writing(path):
            os.rename(aside, path)
            sync_folder(folder)
        found = _found(folder)
        at = found.index(path)
        with writing(path):
            for other in (*found[:at], *found[at + keep :]):
                shutil.rmtree(other)
        return path

    @classmethod
    def newest(cls, folder: Path, identity: Mapping[str, str], say: Callable[[str], None]) -> "Checkpoint | None":
        """The newest checkpoint that is whole, or None where there is none.

        A damaged one is passed over, and `say` is told its name. Left-overs of a killed writer are removed: only the holder of the
        run folder may call this.

        Raises
        ------
        FolderError
            The newest whole one belongs to another run; the message says what differs.
        DamagedError
            There are checkpoints, and none is whole.
        """
        with writing(folder):
            for left_over in folder.glob("*.tmp"):
                shutil.rmtree(left_over)
        found = _found(folder)
        for path in found:
            try:
                checkpoint = cls.open(path, identity)
            except DamagedError as error:
                say(f"{error} The checkpoint before it is taken.")
            else:
                return checkpoint
        if found:
            raise DamagedError(f'None of the {len(found)} checkpoints in "{folder}" is whole. Start from the beginning with --fresh.')
        return None

    @classmethod
    def open(cls, path: Path, identity: Mapping[str, str] | None) -> "Checkpoint":
        """One checkpoint, its hashes verified.

        Raises
        ------
        DamagedError
            A file of it is missing or not what was written.
        FolderError
            It belongs to another run, or a newer Steppe wrote it.
        """
        try:
            content = read_sealed(path / MANIFEST, "")
        except FileNotFoundError:
            raise DamagedError(f'"{path / MANIFEST}" is missing.') from None
        if content["format"] > FORMAT:
            raise FolderError(f'"{path}" has format {content["format"]}, this Steppe reads up to {FORMAT}. Install a newer Steppe.')
        if identity is not None:
            check_identity(path, content["identity"], identity)
        _verify(path / "arrays.bin", content["size"], content["xxh3"])
        return cls(path, content["step"], content["identity"], content["manifest"], content["arrays"])

    def read(self, name: str, cells: range | None = None) -> Array:
        """A copy of an array, or of a range of its last axis.

        Raises
        ------
        DamagedError
            There is no such array.
        """
        if name not in self.arrays:
            raise DamagedError(f'"{self.path}" has no array "{name}", only {", ".join(self.arrays)}. It was written by another version.')
        entry = self.arrays[name]
        shape = tuple(entry["shape"])
        if 0 in shape:
            return np.empty(shape, entry["dtype"])
        mapped = np.memmap(self.path / "arrays.bin", dtype=entry["dtype"], mode="r", offset=entry["offset"], shape=shape)
        return np.array(mapped if cells is None else mapped[..., cells.start : cells.stop])


def staged(arrays: Mapping[str, Array], room: dict[str, Array]) -> dict[str, Array]:
    """Copies of arrays that change while a checkpoint of them is written. room: kept from call to call, so that memory is taken once."""
    copies = {}
    for name, values in arrays.items():
        copy = room.get(name)
        if copy is None or (copy.shape, copy.dtype) != (values.shape, values.dtype):
            copy = room[name] = np.empty_like(values)
        np.copyto(copy, values)
        copies[name] = copy
    return copies


def _key(path: Path) -> tuple[int, int]:
    step, _, again = path.name.partition("-")
    return int(step), int(again or 0)


def _found(folder: Path) -> list[Path]:
    """The checkpoints of a folder, newest first."""
    names = folder.glob("[0-9]" * 10 + "*") if folder.is_dir() else ()
    return sorted((path for path in names if path.suffix != ".tmp"), key=_key, reverse=True)


def _write_arrays(path: Path, arrays: Mapping[str, Array]) -> tuple[dict[str, Any], int, str]:
    described: dict[str, Any] = {}
    digest = xxhash.xxh3_128()
    position = 0
    with writing(path):
        path.parent.mkdir(parents=True)
        with open(path, "wb") as file:
            for name, values in arrays.items():
                if values.dtype.kind not in "biuf":
                    raise Failure(f'"{name}" is {values.dtype}; a checkpoint holds numbers. This is a defect of Steppe.')
                little = np.asarray(values, dtype=values.dtype.newbyteorder("<"), order="C")
                described[name] = {"dtype": little.dtype.str, "shape": list(little.shape), "offset": position}
                for part in (little.reshape(-1).view(np.uint8).data, bytes(-little.nbytes % ALIGNMENT)):
                    digest.update(part)
                    position += file.write(part)
                if hasattr(os, "posix_fadvise"):  # Linux begins to write to the disk while the rest is hashed
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.flush()
            os.fsync(file.fileno())
    return described, position, digest.hexdigest()


def _verify(path: Path, size: int, expected: str) -> None:
    digest = xxhash.xxh3_128()
    try:
        with open(path, "rb") as file:
            for block in _blocks(file):
                digest.update(block)
            length = file.tell()
    except OSError as error:
        raise DamagedError(f'"{path}" cannot be read ({error.strerror}).') from None
    if length != size:
        raise DamagedError(f'"{path}" has {length} bytes, {size} were written.')
    if digest.hexdigest() != expected:
        raise DamagedError(f'"{path}" is damaged: its hash is wrong.')


def _blocks(file: Any) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block
