"""Which application answers a path: the merchants' pages, the operators' pages, or the API."""

from starlette.types import ASGIApp, Receive, Scope, Send

from malipo.api.app import App
from malipo.dashboard.merchant.app import Dashboard
from malipo.dashboard.operator.app import OperatorDashboard
from malipo.service import Service


class WebApplication:
    """Pages for merchants at /dashboard and for operators at /operator, the API everywhere else."""

    def __init__(self, service: Service) -> None:
        self._api = App(service)
        self._pages: dict[str, ASGIApp] = {"dashboard": Dashboard(service), "operator": OperatorDashboard(service)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        app = self._pages.get(path[1:].partition("/")[0], self._api)
        await app(scope, receive, send)
