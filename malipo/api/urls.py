"""URLs: which thing a request is about."""

import re

from starlette.requests import Request

from malipo.errors import Missing
from malipo.http.public_url import host_of
from malipo.settings import Settings


def id_in(request: Request, missing: type[Missing], name: str = "id") -> str:
    """The id in the path. A text that the database cannot store is refused without a query."""
    id_: str = request.path_params[name]
    if "\0" in id_:
        raise missing
    return id_


_PORT = re.compile(r":[0-9]{1,5}$")


def simulator_url(settings: Settings, request: Request) -> str:
    """Where the reader finds the simulated phones: on the same host. The simulator speaks HTTP without TLS."""
    host = _PORT.sub("", host_of(settings, request))
    return f"http://{host}:{settings.simulator_port}"
