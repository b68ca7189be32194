"""/merchant/auth: log-in, refresh, log-out, passwords."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.accounts.reauthentication import Proof
from malipo.accounts.second_factor.check_code import TypedCode
from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.responses import success
from malipo.http.client_address import address_of
from malipo.merchants.sessions import LoginTokens
from malipo.merchants.store.sessions import MerchantSession
from malipo.validation.fields import Fields


async def log_in(parts: ApiParts, request: Request) -> Response:
    fields = Fields(await object_of(request))
    email, password, typed = fields.secret("email"), fields.secret("password"), _typed(fields)
    fields.check()
    granted = await parts.accounts.login.log_in(
        email,
        password,
        typed,
        address=_address(parts, request),
        user_agent=request.headers.get("user-agent", ""),
        now=parts.clock(),
    )
    return _granted(granted)


async def refresh(parts: ApiParts, request: Request) -> Response:
    fields = Fields(await object_of(request))
    token = fields.secret("refreshToken")
    fields.check()
    return _granted(await parts.accounts.sessions.refresh(token, address=_address(parts, request), now=parts.clock()))


async def log_out(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    await parts.accounts.sessions.log_out(session, address=_address(parts, request), now=parts.clock())
    return success({"message": "You are logged out."})


async def confirm(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    fields = Fields(await object_of(request))
    password, typed = fields.secret("password"), _typed(fields)
    fields.check()
    proof = Proof(password, typed)
    await parts.accounts.login.confirm(session, proof, address=_address(parts, request), now=parts.clock())
    return success({"message": "It is confirmed that it is you."})


async def change_password(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    fields = Fields(await object_of(request))
    current, new, typed = fields.secret("currentPassword"), fields.secret("newPassword"), _typed(fields)
    fields.check()
    await parts.accounts.login.change_password(
        session.person, current, new, typed, address=_address(parts, request), now=parts.clock()
    )
    return success({"message": "The password is changed. Every session has ended: log in again."})


async def reset(parts: ApiParts, request: Request) -> Response:
    fields = Fields(await object_of(request))
    link, password = fields.secret("token"), fields.secret("password")
    fields.check()
    await parts.accounts.login.use_link(link, password, address=_address(parts, request), now=parts.clock())
    return success({"message": "The password is set. You can log in now."})


def _typed(fields: Fields) -> TypedCode:
    """The second factor, where there is one."""
    code, recovery_code = (fields.secret(name, is_required=False) for name in ("code", "recoveryCode"))
    return TypedCode(code, recovery_code)


def _granted(granted: LoginTokens) -> Response:
    return success({"token": granted.token, "refreshToken": granted.refresh_token, "expiresIn": granted.expires_in})


def _address(parts: ApiParts, request: Request) -> str:
    return str(address_of(request, parts.settings.trusted_proxies))
