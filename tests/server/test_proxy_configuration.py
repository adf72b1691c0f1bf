"""The block for nginx in docs/serve.md, word by word but for ports and certificates, between a client and the server."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from steppe.server.application import application
from steppe.server.serve import configuration
from tests.server.asking import TOKENS, access_of_all, bearer
from tests.server.listening import listening, talk, wait_for
from tests.server.toy import Toy

DOCS = Path(__file__).parents[2] / "docs" / "serve.md"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
WHOLE = "user root; daemon off; pid {0}/pid; error_log {0}/log; events {{}} http {{ access_log off; {1}\n{2} }}"
FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@pytest.fixture
def port(toy: Toy, tmp_path: Path) -> Iterator[int]:
    """The port of nginx before a server whose addresses begin with /steppe."""
    assert NGINX
    block = DOCS.read_text().partition("```nginx\n")[2].partition("```")[0]
    with socket.create_server(("127.0.0.1", 0)) as free:
        there = free.getsockname()[1]
    with listening(application({"toy": toy}, access_of_all(), hosts=("steppe.example.org",), prefix="/steppe")) as behind:
        text = block.replace("listen 443 ssl", f"listen 127.0.0.1:{there}").replace("127.0.0.1:8090", f"127.0.0.1:{behind}")
        text = re.sub(r"ssl_certificate\w* .*;", "", text)
        folders = " ".join(f"{name}_temp_path {tmp_path}/{name};" for name in FOLDERS)
        file = tmp_path / "nginx.conf"
        file.write_text(WHOLE.format(tmp_path, folders, text))
        with subprocess.Popen([NGINX, "-p", str(tmp_path), "-c", str(file)], stderr=subprocess.PIPE) as nginx:
            try:
                wait_for(lambda: talk(there, b"GET / HTTP/1.0\r\n\r\n") if _listens(there) else nginx.poll())
                yield there
            finally:
                nginx.terminate()


def _listens(port: int) -> bool:
    time.sleep(0.05)
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_a_proxy_set_up_as_the_docs_say_passes_all_that_clients_need(port: int) -> None:
    host = {"Host": f"steppe.example.org:{port}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=host) as client:
        moved = client.get("/steppe")
        assert (moved.status_code, moved.headers["location"]) == (308, "/steppe/")
        origin = {"Origin": f"http://steppe.example.org:{port}"}
        login = client.post("/steppe/api/v1/login", json={"token": TOKENS["view"]}, headers=origin)
        assert (login.status_code, "; Path=/steppe; " in login.headers["set-cookie"]) == (204, True)
        content = bytes(2_000_000)
        path = f"/steppe/api/v1/runs/toy/uploads/{sha256(content).hexdigest()}"
        sent = client.put(path, content=content, headers={**bearer("steer"), "Content-Type": "application/octet-stream"})
        assert sent.status_code == 201, sent.text
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    head = f"GET /steppe/api/v1/runs/toy/live HTTP/1.1\r\nHost: steppe.example.org:{port}\r\nAuthorization: Bearer {TOKENS['view']}\r\n"
    protocol = "Sec-WebSocket-Protocol: steppe.live.1\r\n\r\n"
    assert b"hello" in talk(port, (head + upgrade + protocol).encode(), until=b"hello")


def test_a_socket_at_rest_is_asked_before_a_proxy_ends_it(toy: Toy) -> None:
    found = configuration(application({"toy": toy}, access_of_all()))
    assert found.ws_ping_interval == 20.0
    assert "Idle times of 30 s do no harm: each stream and each socket sends something at least\nevery 20 s." in DOCS.read_text()
