"""nginx and HAProxy before malipo, with the configuration in deploy/ on other ports and without the certificate."""

import asyncio
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from tests.conftest import free_port

_DEPLOY = Path(__file__).parents[2] / "deploy"


@dataclass(frozen=True)
class Proxy:
    process: subprocess.Popen[bytes]
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def until_ready(self) -> None:
        """HAProxy looks for malipo before it lets anybody through."""
        async with aiohttp.ClientSession() as http, asyncio.timeout(30):
            while True:
                try:
                    async with http.get(f"{self.url}/v1/wallet") as answer:
                        if answer.status == 401:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.1)

    def reload(self) -> None:
        """`systemctl reload nginx`."""
        self.process.send_signal(signal.SIGHUP)


def _without_tls(text: str, *, port: int, upstream: int, is_kept: bool) -> str:
    """The configuration as it is shipped, on other ports, without the certificate."""
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{upstream}")
    text = re.sub(r"listen 443 ssl http2;", f"listen 127.0.0.1:{port};", text)
    text = re.sub(r"\n *ssl_certificate.*", "", text)
    text = re.sub(r"\nserver \{\n *listen 80;.*?\n\}\n", "\n", text, flags=re.DOTALL)
    text = re.sub(r"bind :443 ssl crt \S+ alpn \S+", f"bind 127.0.0.1:{port}", text)
    if not is_kept:
        text = text.replace('proxy_set_header Connection "";', 'proxy_set_header Connection "close";')
        text = text.replace("http-reuse safe", "http-reuse never\n    option httpclose")
    return text


@contextmanager
def a_proxy(name: str, folder: Path, *, upstream: int, is_kept: bool = True) -> Iterator[Proxy]:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed here")
    port = free_port()
    folder = folder / name
    folder.mkdir()
    if name == "nginx":
        text = (_DEPLOY / "nginx/malipo.conf").read_text()
        text = _without_tls(text, port=port, upstream=upstream, is_kept=is_kept)
        (folder / "nginx.conf").write_text(
            f"pid {folder}/pid; error_log {folder}/error.log info; daemon off; worker_processes 2;\n"
            "events { worker_connections 512; }\n"
            f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n"
            f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n{text}\n}}\n"
        )
        command = ["nginx", "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    else:
        text = (_DEPLOY / "haproxy/malipo.cfg").read_text()
        (folder / "haproxy.cfg").write_text(_without_tls(text, port=port, upstream=upstream, is_kept=is_kept))
        command = ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]
    with (folder / "output.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield Proxy(process, port)
    finally:
        process.terminate()
        process.wait(timeout=10)
