"""Binds the address and port that the settings name, or says in one sentence why it cannot."""

import os
import socket

from malipo.errors import Impossible


class CannotListen(Impossible):
    """Somebody else has the address, or it is not ours."""


def listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CannotListen(
            f"Cannot listen on {host} port {port}: {reason}. "
            "Is malipo already running? Else set MALIPO_HOST or MALIPO_PORT."
        ) from None
