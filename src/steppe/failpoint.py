"""Points at which a test lets a process fail. `python -O` has none of them.

    assert reach("pin.written")                     STEPPE_FAIL=pin.written:3:kill:FILE

The process that reaches the point for the third time is killed. FILE, which may be left out, is made then. A process that finds it does not
fail: so of a server and all engines that it starts one fails, once. Other actions: raise (RuntimeError), hang (for an hour, or until it
is killed), enospc (what the system says of a full disk).
"""

import errno
import os
import signal
import time

NAMES = (
    *("journal.before_commit", "journal.after_commit", "reply.before", "upload.before_row"),  # the server
    *("dispatch.before", "pin.written", "pin.sent", "fired.written"),
    *("hello.before", "load.middle", "boundary.sent", "action.before", "action.after", "applied.sent", "fired.sent"),  # the engine
    *("step.before", "step.middle", "shown.swapped", "gather.middle", "data.before", "fork.middle"),
    *("compact.made", "compact.linked", "slot.filled", "frame.sent"),
    *("checkpoint.part_written", "checkpoint.renamed", "checkpoint.told"),
    *("donio.create", "donio.block", "donio.fsync", "donio.rename", "donio.dirsync"),  # a rank
)
ACTIONS = ("kill", "raise", "hang", "enospc")

_asked = os.environ.get("STEPPE_FAIL", "")
_left = 0  # passes until it fails; 0: not read yet


def reach(name: str) -> bool:
    """Fails, waits or kills the process if a test has asked for that at this point; returns True, for `assert`."""
    if _asked and _asked.startswith(f"{name}:"):
        _pass()
    return True


def _pass() -> None:
    global _left, _asked
    _, number, action, *file = _asked.split(":", 3)
    _left = (_left or int(number)) - 1
    if _left:
        return
    _asked = ""
    if file and not _is_first(file[0]):
        return
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise RuntimeError("A failpoint was reached.")
        case "hang":
            time.sleep(3600)
        case "enospc":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_first(file: str) -> bool:
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True
