"""/merchant/auth: log-in, refresh, log-out, passwords."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.api.request_body import object_of
from malipo.api.responses import success
from malipo.client_address import address_of
from malipo.merchants.sessions import Granted
from malipo.merchants.store.sessions import Session
from malipo.service import Service
from malipo.validation.fields import Fields


async def log_in(service: Service, request: Request) -> Response:
    fields = Fields(await object_of(request))
    email, password = fields.secret("email"), fields.secret("password")
    fields.check()
    granted = await service.login.log_in(
        email,
        password,
        address=_address(service, request),
        user_agent=request.headers.get("user-agent", ""),
        now=service.clock(),
    )
    return _granted(granted)


async def refresh(service: Service, request: Request) -> Response:
    fields = Fields(await object_of(request))
    token = fields.secret("refreshToken")
    fields.check()
    return _granted(await service.sessions.refresh(token, now=service.clock()))


async def log_out(service: Service, session: Session, request: Request) -> Response:
    await service.sessions.log_out(session, now=service.clock())
    return success({"message": "You are logged out."})


async def change_password(service: Service, session: Session, request: Request) -> Response:
    fields = Fields(await object_of(request))
    current, new = fields.secret("currentPassword"), fields.secret("newPassword")
    fields.check()
    await service.login.change_password(
        session.person, current, new, address=_address(service, request), now=service.clock()
    )
    return success({"message": "The password is changed. Every session has ended: log in again."})


async def reset(service: Service, request: Request) -> Response:
    fields = Fields(await object_of(request))
    link, password = fields.secret("token"), fields.secret("password")
    fields.check()
    await service.login.use_link(link, password, address=_address(service, request), now=service.clock())
    return success({"message": "The password is set. You can log in now."})


def _granted(granted: Granted) -> Response:
    return success({"token": granted.token, "refreshToken": granted.refresh_token, "expiresIn": granted.expires_in})


def _address(service: Service, request: Request) -> str:
    return str(address_of(request, service.settings.trusted_proxies))
