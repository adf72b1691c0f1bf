"""Failures that sending again does not help are raised at once; others are waited out."""

import asyncio
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import steppe
from steppe.client import UnreachableError
from steppe.client.refusals import lasting
from steppe.errors import Mistake
from tests.client.served import TOKENS, Served
from tests.scenario import copied

AT_ONCE = 20.0  # [s], below the patience of 60 s
BEFORE_A_PING = 15.0  # [s], below the 20 s after which a client asks whether the server is there


@pytest.fixture(scope="module")
def secure(made_scenario: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a self-signed certificate, `cert.pem` in its folder."""
    run_file = copied(made_scenario, tmp_path_factory.mktemp("secure"))
    certify(run_file.parent)
    server = Served(run_file, "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    trusting(server).close()  # waits until it listens
    yield server
    server.stop()


def certify(folder: Path) -> None:
    """Writes a self-signed certificate for 127.0.0.1 and its key."""
    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string("CN=127.0.0.1"), datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    day = timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").touch(0o600)
    (folder / "key.pem").write_bytes(secret)


def context(server: Served) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=server.folder / "cert.pem")


def trusting(server: Served) -> steppe.client.Run:
    return steppe.connect(server.address, TOKENS["admin"], verify=context(server))


def waited(address: str) -> None:
    steppe.connect(address, "token")


def awaited(address: str) -> None:
    asyncio.run(steppe.connect_async(address, "token"))


@pytest.mark.parametrize("connect", [waited, awaited])
def test_a_certificate_that_is_not_trusted_is_refused_at_once(secure: Served, connect: Callable[[str], None]) -> None:
    begin = time.monotonic()
    with pytest.raises(UnreachableError, match=r"is not accepted: self.signed certificate\. Give .*verify=\.\.\.\)"):
        connect(secure.address)
    assert time.monotonic() - begin < AT_ONCE


def test_verify_takes_the_certificate_of_the_server(secure: Served) -> None:
    async def step() -> int:
        async with await steppe.connect_async(secure.address, TOKENS["admin"], verify=context(secure)) as run:
            await run.restart()
            async with aclosing(run.watch("water")) as maps:
                return int((await anext(maps)).attrs["step"])

    begin = time.monotonic()
    assert asyncio.run(step()) == 0
    assert time.monotonic() - begin < BEFORE_A_PING
    with trusting(secure) as run, closing(run.watch("water")) as maps:
        assert next(maps).attrs["step"] == 0
    with steppe.connect(secure.address, TOKENS["admin"], verify=False) as run:
        assert run.info().model == "bucket"


def test_a_watch_whose_certificate_is_not_trusted_ends_at_once(secure: Served) -> None:
    with trusting(secure) as run:
        run._behind._remote.line.verify = True  # of the socket alone
        begin = time.monotonic()
        with pytest.raises(UnreachableError, match=r"verify=\.\.\."):
            next(run.watch("water"))
        assert time.monotonic() - begin < AT_ONCE


@pytest.mark.parametrize("connect", [waited, awaited])
def test_a_server_without_tls_is_named_at_once(shared_server: Served, connect: Callable[[str], None]) -> None:
    begin = time.monotonic()
    with pytest.raises(UnreachableError, match=r"^https://127\.0\.0\.1:\d+ speaks no TLS\. Is its address http://\.\.\.\?$"):
        connect(shared_server.address.replace("http:", "https:"))
    assert time.monotonic() - begin < AT_ONCE


def test_a_server_with_tls_that_is_called_without_it_is_named(secure: Served) -> None:
    with pytest.raises(UnreachableError, match=r"did not answer for 0\.1 s: .*Is steppe serve running there, without TLS \(https\)\?$"):
        steppe.connect(secure.address.replace("https:", "http:"), patience=0.1)


@pytest.mark.parametrize("connect", [waited, awaited])
def test_an_unknown_host_name_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, connect: Callable[[str], None]) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)  # as every resolver answers, also one that knows all names
    begin = time.monotonic()
    with pytest.raises(UnreachableError, match=r'The host name "nowhere\.invalid" of http://nowhere\.invalid:8090 is not known\. Give the'):
        connect("http://nowhere.invalid:8090")
    assert time.monotonic() - begin < AT_ONCE


def test_a_host_name_that_was_right_before_may_come_back() -> None:
    unknown = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert lasting(unknown, "http://node1:8090", met=False)
    assert not lasting(unknown, "http://node1:8090", met=True)
    assert not lasting(socket.gaierror(socket.EAI_AGAIN, "Temporary failure"), "http://node1:8090", met=False)
    assert not lasting(ConnectionRefusedError("refused"), "http://node1:8090", met=False)


@pytest.mark.parametrize("there", [True, False])
def test_a_run_file_is_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.chdir(tmp_path)
    if there:
        Path("run").write_text("")
    name = "run" if there else "missing.toml"
    begin = time.monotonic()
    with pytest.raises(Mistake, match=rf'"{name}" names a file; connect takes the address of a server.*steppe\.Simulation\("{name}"\)'):
        steppe.connect(name)
    assert time.monotonic() - begin < AT_ONCE


@pytest.mark.parametrize("wrong", ["ftp://somewhere", "http://127.0.0.1:83900", "http://127.0.0.1:0", "http://[::1"])
def test_what_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(Mistake, match=r"is no address of a server\. Give one such as http://"):
        steppe.connect(wrong)


def test_a_socket_that_is_not_there_is_named() -> None:
    with pytest.raises(UnreachableError, match=r"unix:/nowhere did not answer for 0\.1 s: .*No such file"):
        steppe.connect("unix:/nowhere", patience=0.1)
