"""Routing of the JSON API and the pages. Errors are JSON for scripts and HTML for people."""

import sys
import traceback
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from malipo_simulator import account_api, api
from malipo_simulator.api import Handler
from malipo_simulator.app import TRANSPORT
from malipo_simulator.bank import routes as bank_routes
from malipo_simulator.host_check import is_own, name_in
from malipo_simulator.mail import mail_pages
from malipo_simulator.pages import render, views
from malipo_simulator.simulator import Simulator


class WebRouter:
    def __init__(self, simulator: Simulator, hosts: Collection[str] = ()) -> None:
        self._simulator = simulator
        self._hosts = {each.lower() for each in hosts}
        by_path: dict[str, dict[str, Handler]] = defaultdict(dict)
        for method, path, handler in (
            *api.ROUTES,
            *account_api.ROUTES,
            *bank_routes.ROUTES,
            *mail_pages.ROUTES,
            *views.ROUTES,
        ):
            by_path[path][method] = handler
        routes = [Route(path, self._endpoint(handlers), methods=list(handlers)) for path, handlers in by_path.items()]
        self._router = Router(routes, redirect_slashes=False)

    def _endpoint(self, handlers: dict[str, Handler]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await handlers["GET" if request.method == "HEAD" else request.method](self._simulator, request)

        return endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # With an app in the scope the framework raises its refusals, and does not write them as plain text.
        scope["app"] = self
        try:
            self._check_host(scope)
            await self._router(scope, receive, send)
        except ClientDisconnect:
            pass
        except HTTPException as error:
            response = _refusal(scope["path"], error.status_code, error.detail)
            response.headers.update(error.headers or {})
            await response(scope, receive, send)
        except Exception:
            if scope[TRANSPORT].is_closing():
                return  # The client was too slow, and has disconnected.
            traceback.print_exc(file=sys.stderr)
            response = _refusal(scope["path"], 500, "The simulator has failed; it printed why.")
            await response(scope, receive, send)

    def _check_host(self, scope: Scope) -> None:
        name = name_in(next((value for key, value in scope["headers"] if key == b"host"), b""))
        local = scope.get("server")
        if not is_own(name, configured=self._hosts, local_address=local[0] if local else None):
            raise HTTPException(
                HTTPStatus.MISDIRECTED_REQUEST,
                "The simulator does not answer to this name. Open it as localhost, or start it with --allowed-host.",
            )


def _refusal(path: str, status: int, text: str) -> Response:
    return api.answer({"error": text}, status) if path.startswith("/api/") else render.problem(status, text)
