"""The listening sockets: bound here, or handed over by the parent process or systemd, which keep them open while this
process is replaced.

systemd hands over the sockets of a `.socket` unit as LISTEN_FDS says: the files from 3 on, for the process LISTEN_PID.
Each socket is identified by its port, so that a unit and the settings cannot contradict each other.
"""

import os
import socket
from collections.abc import Iterable, MutableMapping, Sequence

from malipo.errors import Impossible
from malipo.settings import Settings

BACKLOG = 2048
_FIRST_HANDED_OVER = 3


class CannotListen(Impossible):
    """Another process uses the address, or this machine does not have it."""


def listeners(settings: Settings, handed_over: Sequence[socket.socket] = ()) -> list[socket.socket]:
    """One socket for each port of the settings: the one that was handed over, or a new one."""
    wanted = {"MALIPO_PORT": settings.port, "MALIPO_OPERATOR_PORT": settings.operator_port}
    by_port = {each.getsockname()[1]: each for each in handed_over}
    if unwanted := by_port.keys() - wanted.values():
        raise CannotListen(
            f"A socket on port {min(unwanted)} was handed over, and MALIPO_PORT is {settings.port}: "
            "the socket unit and the settings must name the same port."
        )
    return [
        by_port[port] if port in by_port else listen(settings.host, port, setting=name)
        for name, port in wanted.items()
        if port is not None
    ]


def listen(host: str, port: int, *, setting: str = "MALIPO_PORT", host_setting: str = "MALIPO_HOST") -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CannotListen(
            f"Cannot listen on {host} port {port}: {reason}. "
            f"Is malipo already running? Else set {host_setting} or {setting}."
        ) from None


def of_supervisor(environment: MutableMapping[str, str]) -> list[socket.socket]:
    """The sockets of a systemd socket unit. The variables are removed: they are not meant for child processes."""
    variables = {name: environment.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")}
    if variables["LISTEN_PID"] != str(os.getpid()):
        return []
    return of_files(range(_FIRST_HANDED_OVER, _FIRST_HANDED_OVER + int(variables["LISTEN_FDS"])))


def of_files(numbers: Iterable[int]) -> list[socket.socket]:
    """Sockets that were open when this process began."""
    taken = []
    for number in numbers:
        os.set_inheritable(number, False)  # Only an API process inherits it.
        taken.append(socket.socket(fileno=number))
    return taken
