"""TLS between an engine and its server on another machine, without an authority: the rendezvous holds the digest of the certificate.

server: new certificate ──> door.json: its SHA-256 ──> engine: compares it with the certificate that the server presents
"""

from __future__ import annotations

import hmac
import socket
import ssl
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

PIECE = 256 << 10  # bytes that are encrypted at once
DAY = timedelta(days=1)


def new_certificate() -> tuple[ssl.SSLContext, str]:
    """A server's context with a new certificate, and the fingerprint of the certificate."""
    from cryptography import x509  # here and not above: only the link to an engine on another machine needs it
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string("CN=steppe"), datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - DAY, now + 3650 * DAY)
    made = builder.sign(key, SHA256())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with tempfile.TemporaryDirectory(prefix="steppe-") as folder:  # other users cannot enter it
        path = Path(folder) / "steppe.pem"
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + made.public_bytes(Encoding.PEM))
        context.load_cert_chain(path)
    return context, _fingerprint(made.public_bytes(Encoding.DER))


def _fingerprint(certificate: bytes) -> str:
    return sha256(certificate).hexdigest()


class TlsClient:
    """The client's end of a TLS connection; while one thread waits for bytes, others may send.

    Parameters
    ----------
    line
        A connected socket; this object owns it from now on.
    fingerprint
        Of the certificate that the server must present.

    Raises
    ------
    OSError
        The other end does not speak TLS, or presents another certificate; no message was sent to it.
    """

    def __init__(self, line: socket.socket, fingerprint: str) -> None:
        self._line, self._in, self._out = line, ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the fingerprint is stricter than any authority
        self._tls = context.wrap_bio(self._in, self._out)
        self._state = threading.Lock()  # OpenSSL's object is for one thread at a time, and must not wait for bytes
        self._sending = threading.Lock()
        while not self._shook_hands():
            self._flush()
            self._take()
        self._flush()
        if not hmac.compare_digest(_fingerprint(self._tls.getpeercert(binary_form=True) or b""), fingerprint):
            raise ConnectionError("Another process answers at the server's address: its certificate is not the one of door.json.")

    def _shook_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def _take(self) -> None:
        found = self._line.recv(PIECE)
        with self._state:
            if found:
                self._in.write(found)
            else:
                self._in.write_eof()

    def _flush(self) -> None:
        with self._sending:
            with self._state:
                sealed = self._out.read()
            self._line.sendall(sealed)

    def recv_into(self, buffer: memoryview) -> int:
        """Waits for bytes and writes them to a buffer; returns their count, 0 at the end."""
        while True:
            with self._state:
                try:
                    return self._tls.read(len(buffer), buffer)  # type: ignore[return-value]
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return 0
                answer = self._out.pending  # the reply to a renewal of keys
            if answer:
                self._flush()
            self._take()

    def sendall(self, data: bytes | bytearray | memoryview) -> None:
        """Sends all bytes."""
        view = memoryview(data).cast("B")
        while view:
            with self._state:
                count = self._tls.write(view[:PIECE])
            view = view[count:]
            self._flush()

    def settimeout(self, seconds: float | None) -> None:
        """Sets how long each of the other methods may wait."""
        self._line.settimeout(seconds)

    def shutdown(self, how: int) -> None:
        """Ends the connection, also in the middle of a message."""
        self._line.shutdown(how)

    def close(self) -> None:
        """Closes the socket."""
        self._line.close()
