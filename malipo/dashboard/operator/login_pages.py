"""Log-in and log-out of operators."""

from malipo.dashboard import cookies
from malipo.dashboard.login_pages import LoginPages
from malipo.dashboard.operator.request import OperatorRequest

SENTENCES = {"operator_unknown": "The name or the password is not right."}


class OperatorLoginPages(LoginPages[OperatorRequest]):
    template = "operator/login.html"
    field = "name"
    cookie = cookies.OPERATOR

    async def _begin(self, request: OperatorRequest, name: str, password: str) -> str:
        service = request.service
        return await service.operators.begin(name, password, address=request.address, now=service.clock())

    async def _end(self, request: OperatorRequest) -> None:
        if request.session is not None:
            service = request.service
            await service.operators.log_out(request.session, address=request.address, now=service.clock())


LOGIN = OperatorLoginPages()
