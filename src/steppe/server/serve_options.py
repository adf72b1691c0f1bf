"""The options of a server: those of `steppe serve`."""

import errno
import os
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from steppe.control.sockets import bound
from steppe.errors import Mistake


@dataclass(frozen=True)
class ServeOptions:
    """The address of a server, the proxies that it trusts, and what its runs may use.

    Parameters
    ----------
    bind
        Address and port to listen at; port 0 takes a free one.
    uds
        Listen at a Unix socket of this path instead.
    launcher
        Words before the command of the engine, such as "mpiexec -n 4" or "srun -n 64".
    token_file
        Tokens to accept: lines of a role (view, steer, admin) and a token, in a file that you alone can read. Without it the server makes
        tokens and keeps them in server.tokens of the run folder, or of the folder of --runs.
    durable
        Orders survive a power failure, too, and take some milliseconds more.
    keep_engine
        Leave the engine at work when the server ends; the next server takes it over.
    engine_bind
        ADDRESS or ADDRESS:PORT of this machine for an engine that the launcher starts on another machine.
    plain_engine_link
        Do not encrypt the link to that engine, for a private network; by default TLS encrypts it.
    read_only
        Clients may read the run, and order nothing.
    many
        One token may open as many sockets as the server takes, 1,200, instead of 8: for a link that a whole lecture shares.
    scenarios
        The most scenarios of a run, 100 by default; the server refuses the next one until one is removed.
    tls_cert
        File of a certificate, for HTTPS.
    tls_key
        File of its key.
    host
        A name by which the server may be called, beside localhost.
    root_path
        The prefix of all addresses, such as /steppe, if a proxy passes on a part of its own.
    proxy
        Address or network of a proxy whose headers X-Forwarded-Prefix and X-Forwarded-For are believed; "unix" for one that calls at --uds.
    cors
        ORIGIN of another site, such as https://maps.example.org, whose scripts may call with a token. May be given several times.
    runs
        A folder for the runs that clients begin; the runs in it are served, too.
    data
        A folder that their run files may name, beside that. May be given several times.
    launchers
        NAME=WORDS: a launcher that their engines may use, such as four="mpiexec -n 4". May be given several times.
    open
        Open the page in a browser, too.
    access_log
        Write a line for each request to standard error: its token's name, client, address, status, bytes and time; never the token.
    """

    bind: str = "127.0.0.1:8090"
    uds: Path | None = None
    launcher: str = ""
    token_file: Path | None = None
    durable: bool = False
    keep_engine: bool = False
    engine_bind: str = ""
    plain_engine_link: bool = False
    read_only: bool = False
    many: bool = False
    scenarios: int | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    host: tuple[str, ...] = ()
    root_path: str = ""
    proxy: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    runs: Path | None = None
    data: tuple[Path, ...] = ()
    launchers: tuple[str, ...] = ()
    open: bool = False
    access_log: bool = False

    def check(self) -> None:
        """Raises `Mistake` for options that contradict each other or that cannot be."""
        if (self.tls_cert is None) != (self.tls_key is None):
            raise Mistake("--tls-cert and --tls-key belong together; give both.")
        if self.scenarios is not None and self.scenarios < 1:
            raise Mistake(f"--scenarios {self.scenarios} must be 1 or more: main is one.")
        if self.open and self.uds:
            raise Mistake("--open needs an address that a browser can call; leave --uds away.")
        if self.plain_engine_link and not self.engine_bind:
            raise Mistake("--plain-engine-link is for an engine on another machine; give --engine-bind, too.")
        if self.runs and self.runs.exists() and not self.runs.is_dir():
            raise Mistake(f'--runs "{self.runs}" is a file, expected a folder.')
        for folder in self.data:
            if not folder.is_dir():
                raise Mistake(f'--data "{folder}" is no folder. Name one that run files may read.')
        _named(self.launchers)
        if self.tls_cert and self.tls_key:
            _check_certificate(self.tls_cert, self.tls_key)
        if not self.uds:
            _check_address(self.bind)

    @cached_property
    def where(self) -> dict[str, object]:
        """Host and port, or uds; ssl_certfile and ssl_keyfile. Raises `Mistake` for an address that cannot be."""
        host, port = _address(self.bind)
        found: dict[str, object] = {"uds": str(self.uds)} if self.uds else {"host": host, "port": port}
        return found | ({"ssl_certfile": str(self.tls_cert), "ssl_keyfile": str(self.tls_key)} if self.tls_cert else {})

    @cached_property
    def launcher_words(self) -> Mapping[str, str]:
        """Name -> words before the command of an engine; "": of the run that the server is started with. Raises `Mistake`."""
        return {"": self.launcher, **_named(self.launchers)}


def _address(bind: str) -> tuple[str, int]:
    address, _, port = bind.rpartition(":")
    if not address or not port.isdecimal() or int(port) > 65535:
        raise Mistake(f'--bind "{bind}" must be ADDRESS:PORT, such as 127.0.0.1:8090.')
    return address.strip("[]"), int(port)


def _check_address(bind: str) -> None:
    """An address that cannot be listened at is reported before anything is written."""
    try:
        bound(*_address(bind)).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Mistake(f'--bind "{bind}": the port is in use, perhaps by another server. Choose another; 0 takes a free one.') from None
        raise Mistake(f'--bind "{bind}": {error.strerror or error}. Give an address of this machine.') from None


def _check_certificate(certificate: Path, key: Path) -> None:
    for option, path in (("--tls-cert", certificate), ("--tls-key", key)):
        if not os.access(path, os.R_OK) or path.is_dir():
            raise Mistake(f'{option} "{path}" is no file that can be read.')
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        why = "the key is that of another certificate" if "MISMATCH" in str(error) else "expected PEM files, the key without a password"
        raise Mistake(f'--tls-cert "{certificate}" and --tls-key "{key}" cannot be used: {why}.') from None


def _named(launchers: Iterable[str]) -> dict[str, str]:
    pairs = {text: text.partition("=") for text in launchers}
    for text, (name, _, words) in pairs.items():
        if not name or not words:
            raise Mistake(f'--launchers "{text}" must be NAME=WORDS, such as four="mpiexec -n 4".')
    return {name: words for name, _, words in pairs.values()}
