"""The page as it was built from `web/`: its files in memory, so that no path of a request ever reaches the disk."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from zlib import crc32

INDEX = "index.html"
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file of the page. packed: its bytes by gzip, or None where that makes them hardly shorter."""

    media: bytes
    whole: bytes
    packed: bytes | None
    tag: bytes

    @classmethod
    def of(cls, name: str, whole: bytes) -> "File":
        """The file of this name with these bytes."""
        media = _MEDIA.get(name[name.rfind(".") :], "application/octet-stream")
        packed = gzip.compress(whole, 9, mtime=0)
        return cls(media.encode(), whole, packed if len(packed) < 0.9 * len(whole) else None, b'"%08x"' % crc32(whole))


@dataclass(frozen=True, slots=True)
class Page:
    """index: what opens first, None when the page was not built; assets: the rest by name, each with a digest of its content in it."""

    index: File | None
    assets: Mapping[str, File]


def read_page(folder: Traversable) -> Page:
    """The page whose `index.html` and `assets/` lie in a folder."""
    index, assets = folder / INDEX, folder / "assets"
    if not index.is_file():
        return Page(None, {})
    there = [each for each in assets.iterdir() if each.is_file()] if assets.is_dir() else []
    return Page(File.of(INDEX, index.read_bytes()), {each.name: File.of(each.name, each.read_bytes()) for each in there})


@cache
def built_page() -> Page:
    """The page that came with this installation."""
    return read_page(files("steppe.server") / "page")
