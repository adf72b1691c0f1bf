"""Failures of a connection that last: sending again does not help."""

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

UNKNOWN = {getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA") if hasattr(socket, name)}  # EAI_AGAIN may pass


def lasting(error: BaseException, url: str, met: bool) -> str:
    """The text for a failure that lasts; "" for one that may pass.

    met: a server has answered at this address before. Then its name is right, and only the network is away.
    """
    for each in _causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            text = f"The certificate of {url} is not accepted: {each.verify_message.rstrip('.')}."
            return f"{text} Give an ssl.SSLContext that trusts it: steppe.connect(address, verify=...)."
        if isinstance(each, socket.gaierror) and each.errno in UNKNOWN and not met:
            return f'The host name "{urlsplit(url).hostname}" of {url} is not known. Give the address that steppe serve printed.'
    return ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came from, the last one first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
