"""A response of a site. Every one, a redirect too, has the security headers. A page is compressed, if it may be."""

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

from malipo import clock
from malipo.dashboard.compressed_pages import compressed, is_page
from malipo.http.client_address import HSTS
from malipo.http.compression import LEAST_BYTES


class SecuredResponse:
    def __init__(self, send: Send, headers: Mapping[str, str], *, is_secure: bool, may_compress: bool) -> None:
        self._send = send
        self._headers = headers
        self._may_compress = may_compress
        self._held: Message | None = None  # until the body is there: its length is a header
        self.is_secure = is_secure
        self.status: int | None = None
        self.began = clock.monotonic()

    @property
    def has_begun(self) -> bool:
        return self.status is not None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
            if self.is_secure:
                headers.setdefault(*HSTS)
            if is_page(headers):
                headers.add_vary_header("Accept-Encoding")
                if self._may_compress:
                    self._held = message
                    return
        elif (start := self._held) is not None:
            self._held = None
            if not message.get("more_body") and len(message["body"]) >= LEAST_BYTES:
                message["body"] = await compressed(message["body"], MutableHeaders(scope=start))
            await self._send(start)
        await self._send(message)
