"""The server of a host for the ranks of the others."""

import resource
import subprocess
import sys

from tests.comm.mpis import ROOT

MANY_CLIENTS = """
import resource
from steppe.arrays.serving import HostLink, PageServer

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
server = PageServer(bytes(32), lambda request: b"%d" % request.array)
links = [HostLink(("127.0.0.1", server.port), bytes(32), "host", print) for _ in range(70)]
answers = [link.ask(number, 0) for number, link in enumerate(links)]
print(*(answer.wait().tobytes().decode() for answer in answers))
"""


def test_it_has_more_clients_than_a_process_may_have_files_by_default() -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 200
    done = subprocess.run([sys.executable, "-c", MANY_CLIENTS], capture_output=True, text=True, cwd=ROOT, check=True, timeout=60)
    assert done.stdout.split() == [str(number) for number in range(70)]
