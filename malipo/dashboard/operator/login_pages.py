"""Log-in and log-out of operators."""

from malipo.accounts.known_browsers import Browser
from malipo.accounts.password_login import FirstStep
from malipo.accounts.second_factor.check_code import TypedCode
from malipo.dashboard import cookies
from malipo.dashboard.login_pages import LoginPages
from malipo.dashboard.operator.request import OperatorRequest

SENTENCES = {
    "lost": "Lost your telephone and your recovery codes? It is reset at the command line.",
}


class OperatorLoginPages(LoginPages[OperatorRequest]):
    template = "operator/login.html"
    field = "name"
    cookie = cookies.OPERATOR
    pending = cookies.OPERATOR_PENDING
    lost = SENTENCES["lost"]

    async def _begin(self, request: OperatorRequest, name: str, password: str, browser: Browser) -> FirstStep:
        parts, address = request.parts, request.address
        return await parts.accounts.operators.begin(name, password, address=address, browser=browser, now=parts.clock())

    async def _waits(self, request: OperatorRequest, token: str) -> bool:
        return await request.parts.accounts.operators.waits_for_code(token, now=request.parts.clock())

    async def _finish(
        self, request: OperatorRequest, token: str, typed: TypedCode, browser: Browser, *, is_trusted: bool
    ) -> str:
        parts, address = request.parts, request.address
        return await parts.accounts.operators.finish(
            token, typed, address=address, browser=browser, now=parts.clock(), is_trusted=is_trusted
        )

    async def _end(self, request: OperatorRequest) -> None:
        if request.session is not None:
            parts = request.parts
            await parts.accounts.operators.log_out(request.session, address=request.address, now=parts.clock())


LOGIN = OperatorLoginPages()
