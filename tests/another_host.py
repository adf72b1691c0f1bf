"""A second host: a network of its own, joined to this one by a cable. Where that needs rights that the tests lack, they are skipped."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class AnotherHost:
    """address: of this host, as the other one sees it; launcher: words before a command that is to run there."""

    name: str
    address: str

    @property
    def launcher(self) -> str:
        return f"ip netns exec {self.name}"

    def plug(self, state: str) -> None:
        """Plugs the cable in ("up") or pulls it ("down"); nobody is told."""
        _ip("-n", self.name, "link", "set", "cable", state)


@contextmanager
def another_host(name: str, net: str = "10.213.71") -> Iterator[AnotherHost]:
    """Makes it, and takes it away. net: the first three numbers of its addresses."""
    if shutil.which("ip") is None:
        pytest.skip("no network of another host can be made here: there is no program ip (iproute2)")
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no network of another host can be made here: {made.stderr.strip()}")
    here = f"{name}-here"
    try:
        _ip("link", "add", here, "type", "veth", "peer", "name", "cable", "netns", name)
        _ip("address", "add", f"{net}.1/24", "dev", here)
        _ip("link", "set", here, "up")
        _ip("-n", name, "address", "add", f"{net}.2/24", "dev", "cable")
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", name, "link", "set", "cable", "up")
        yield AnotherHost(name, f"{net}.1")
    finally:
        subprocess.run(["ip", "link", "delete", here], check=False)  # at once; with the network alone it would go some time later
        _ip("netns", "delete", name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
