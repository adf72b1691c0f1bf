"""Limits of a client's requests: sizes, rates, times."""

from dataclasses import dataclass

from steppe.service.limits import MIB, WorkLimits


@dataclass(frozen=True, slots=True)
class Limits(WorkLimits):
    """The numbers; a server may be started with others."""

    body: int = MIB  # [byte] of JSON
    depth: int = 32  # of JSON
    upload: int = 64 * MIB  # [byte]
    headers: int = 16 * 1024  # [byte] of all of a request
    address: int = 8 * 1024  # [byte]
    header_seconds: float = 5.0
    body_seconds: float = 10.0  # and one more for each MB
    write_seconds: float = 60.0  # in which a client must read something
    wait_seconds: float = 5.0  # the longest wait of a reply for an operation
    connections: int = 2_000
    sockets: int = 1_200  # of viewers
    sockets_of_token: int = 8
    channels: int = 200  # of one run
    followed: int = 64  # cells and regions of a run that are followed: each costs every step a little
    film_values: int = 300_000_000  # cells of all frames of a film; drawing a frame costs as much as half a million
    film_asked: float = 5.0  # [s] after which a film that no client asks for is given up
    strangers_sockets: int = 16  # without a token yet
    scenarios: int = 100  # of a run at once, without those that were left
    requests: float = 50.0  # [1/s] of a token
    requests_burst: float = 100.0
    strangers: float = 10.0  # [1/s] of an address without a token
    strangers_burst: float = 20.0
    data: float = 200e6  # [byte/s] of a token
    data_burst: float = 1e9  # [byte]
    logins: int = 5  # failures in a minute of an address

    @classmethod
    def near(cls) -> "Limits":
        """Limits of a server for this machine alone, which needs no rates."""
        return cls(requests=10_000.0, requests_burst=20_000.0)
