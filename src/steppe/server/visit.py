"""Opening the page in a browser here, without the token in the list of processes, which all users of a machine can read."""

import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

LEADS = """\
<!doctype html><meta charset=utf-8><title>Steppe</title>
<meta http-equiv="refresh" content="0; url={link}"><a href="{link}">Steppe</a>
"""


@contextmanager
def leading(link: str) -> Iterator[Path]:
    """A file of this user alone that leads a browser to a link; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="steppe-") as folder:  # mode 0700
        path = Path(folder) / "steppe.html"
        path.write_text(LEADS.format(link=escape(link)), encoding="utf-8")
        yield path


def open_page(path: Path) -> bool:
    """Opens a file in a browser; False when there is none that can be opened."""
    try:
        return webbrowser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        return False
