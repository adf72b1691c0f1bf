"""TLS between an engine and its server on another machine, with no authority: the server makes a certificate, the door tells its digest.

server: certificate ──> door.json: SHA-256 of it ──> engine: is it the certificate that this end shows?
"""

from __future__ import annotations

import hmac
import socket
import ssl
import subprocess
import tempfile
import threading
from hashlib import sha256
from pathlib import Path

from steppe.errors import Failure, Mistake

PIECE = 256 << 10  # bytes that are sealed at once
MAKE = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=steppe"


def new_certificate() -> tuple[ssl.SSLContext, str]:
    """A context for a server with a certificate of its own, which was never used before, and the certificate's fingerprint.

    Raises
    ------
    Mistake
        There is no program `openssl`.
    Failure
        It could not make one.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with tempfile.TemporaryDirectory(prefix="steppe-") as folder:  # which nobody else can enter
        key, certificate = Path(folder) / "key.pem", Path(folder) / "certificate.pem"
        try:
            made = subprocess.run(
                [*MAKE.split(), "-keyout", str(key), "-out", str(certificate)], stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
        except FileNotFoundError:
            raise Mistake(
                'The program "openssl" is needed to seal the link to an engine on another machine, and was not found. Install it, or give '
                "--plain-engine-link where nobody else can listen to the network."
            ) from None
        if made.returncode:
            raise Failure(f"openssl made no certificate: {made.stderr.decode(errors='replace').strip()}")
        context.load_cert_chain(certificate, key)
        return context, _fingerprint(ssl.PEM_cert_to_DER_cert(certificate.read_text()))


def _fingerprint(certificate: bytes) -> str:
    return sha256(certificate).hexdigest()


class Sealed:
    """The caller's end of a sealed connection; while one thread waits for bytes, others may send.

    Parameters
    ----------
    line
        Is connected; it is this object's from now on.
    fingerprint
        Of the certificate that the other end must show.

    Raises
    ------
    OSError
        The other end does not speak TLS, or shows another certificate; nothing was said to it.
    """

    def __init__(self, line: socket.socket, fingerprint: str) -> None:
        self._line, self._in, self._out = line, ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the fingerprint says more than any authority
        self._tls = context.wrap_bio(self._in, self._out)
        self._state = threading.Lock()  # OpenSSL's object is for one thread at a time, and must not wait for bytes
        self._sending = threading.Lock()
        while not self._shook_hands():
            self._flush()
            self._take()
        self._flush()
        if not hmac.compare_digest(_fingerprint(self._tls.getpeercert(binary_form=True) or b""), fingerprint):
            raise ConnectionError("Somebody else is at the server's address: the certificate is not the one of the door.")

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
        """Waits for bytes and puts them into a buffer; how many, 0 at the end."""
        while True:
            with self._state:
                try:
                    return self._tls.read(len(buffer), buffer)  # type: ignore[return-value]
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return 0
                answer = self._out.pending  # to a renewal of keys
            if answer:
                self._flush()
            self._take()

    def sendall(self, data: bytes | bytearray | memoryview) -> None:
        """Sends all of it."""
        view = memoryview(data).cast("B")
        while view:
            with self._state:
                count = self._tls.write(view[:PIECE])
            view = view[count:]
            self._flush()

    def settimeout(self, seconds: float | None) -> None:
        """How long each of the others may wait."""
        self._line.settimeout(seconds)

    def shutdown(self, how: int) -> None:
        """Ends the connection, in the middle of whatever is said."""
        self._line.shutdown(how)

    def close(self) -> None:
        """Ends it."""
        self._line.close()
