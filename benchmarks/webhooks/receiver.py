"""The merchants' servers of `bench webhooks`: one nginx, which costs so little that the worker is what is measured.

Who asks for /healthy/… gets a 200 and for /failing/… a 500, at once. What asks for /hanging/… is handed on to a socket
that takes every connection and never says a word. When each request came is read from nginx's log, afterwards.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import CannotMeasure
from benchmarks.measured_processes import Running, answers, free_port, started

_PROGRAM = "nginx"
_MOST_CONNECTIONS = 8192
_LOG = "arrivals.log"
# Everything that nginx would keep elsewhere lies in the benchmark's folder, so it needs no rights and leaves nothing.
_CONFIGURATION = """
daemon off;
master_process off;
pid nginx.pid;
error_log nginx.log error;
events {{ worker_connections {connections}; }}
http {{
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    log_format arrival "$msec $uri $http_webhook_id $status";
    access_log {log} arrival buffer=64k flush=100ms;
    keepalive_requests 1000000;
    server {{
        {listen}
        location = /ready {{ access_log off; return 200; }}
        location /healthy/ {{ return 200; }}
        location /failing/ {{ return 500; }}
        location /hanging/ {{ proxy_pass http://127.0.0.1:{hole}; proxy_read_timeout 600s; }}
    }}
}}
"""


@dataclass(frozen=True)
class Receiver:
    nginx: Running
    log: Path  # a line for each request, once it is over; who hangs is over when we hang up


@contextmanager
def receiver(folder: Path, addresses: Sequence[str]) -> Iterator[Receiver]:
    program = _program()
    assert program is not None, "need_nginx comes first"
    port = free_port()
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as hole:
        configuration = _CONFIGURATION.format(
            connections=_MOST_CONNECTIONS,
            log=_LOG,
            listen=" ".join(f"listen {address}:{port} backlog=4096;" for address in addresses),
            hole=hole.getsockname()[1],
        )
        (folder / "nginx.conf").write_text(configuration)
        (folder / _LOG).unlink(missing_ok=True)
        command = [program, "-p", str(folder), "-c", "nginx.conf", "-e", "nginx.log"]
        with started(command, {}, folder / "nginx.out", answers(port, "/ready", addresses[0]), port) as running:
            yield Receiver(running, folder / _LOG)


def need_nginx() -> None:
    """nginx is no Python package. Root in a container gets it installed; everybody else is told what to do.

    Where there is an init, the package would also start an nginx of its own, so there a person has to decide.
    """
    if _program():
        return
    if os.geteuid() == 0 and shutil.which("apt-get") and not Path("/run/systemd/system").exists():
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "nginx-light"]):
            subprocess.run(command, capture_output=True, timeout=600, check=False)
    if not _program():
        raise CannotMeasure(
            "nginx receives the webhooks and is not installed: apt-get install nginx-light, or brew install nginx."
        )


def _program() -> str | None:
    """Debian keeps it where only root looks."""
    return shutil.which(_PROGRAM) or shutil.which(_PROGRAM, path="/usr/sbin:/usr/local/sbin")
