"""How uvicorn serves an application: the API and the pages, or the port of a worker, which imports neither."""

import uvicorn
from starlette.types import ASGIApp

from malipo.api.http.protocol import Protocol
from malipo.api.http.timeouts import KEEP_ALIVE_SECONDS, STOP_SECONDS


def config_of(application: ASGIApp) -> uvicorn.Config:
    """Our own protocol, log and limits; of uvicorn only what accepts connections."""
    return uvicorn.Config(
        application,
        http=Protocol,
        ws="none",
        loop="uvloop",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
