"""A customer's browser without a screen, on the pages in this process: it keeps cookies, and follows nothing by itself."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message, Scope

_PRESS = re.compile(r'name="press" value="([0-9a-f]+)"')
HOST = "pay.example"


@dataclass(frozen=True)
class Seen:
    status: int
    body: bytes
    headers: Mapping[str, str]
    cookies: Mapping[str, str]  # as they stand in the header

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def words(self) -> str:
        """What a reader sees of it."""
        without = re.sub(r"<(style|script|noscript).*?</\1>", " ", self.text, flags=re.DOTALL)
        return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", without))).replace("\xa0", " ")

    @property
    def to(self) -> str:
        return self.headers.get("location", "")


@dataclass
class Customer:
    app: ASGIApp
    cookies: dict[tuple[str, str], str] = field(default_factory=dict)  # by path and name
    address: str = "196.41.0.7"
    press_id: str = ""
    language: str = "en"
    keeps_cookies: bool = True

    async def get(self, path: str, **headers: str) -> Seen:
        return await self._ask("GET", path, headers, b"")

    async def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Seen:
        """As the form of the page that was seen last sends it. A header that is "" is left out."""
        sent = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"} | headers
        return await self._ask("POST", path, sent, urlencode({"press": self.press_id, **fields}).encode())

    async def _ask(self, method: str, target: str, more: Mapping[str, str], body: bytes) -> Seen:
        path, _, query = target.partition("?")
        kept = [
            f"{name}={value}" for (where, name), value in self.cookies.items() if (path + "/").startswith(where + "/")
        ]
        headers = {"host": HOST, "accept-language": self.language, "cookie": "; ".join(kept)}
        if body:
            headers["content-type"] = "application/x-www-form-urlencoded"
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        scope: Scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value],
            "scheme": "http",
            "server": (HOST, 80),
            "client": (self.address, 1),
            "http_version": "1.1",
            "root_path": "",
            "extensions": {},
        }
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return self._seen(path, sent)

    def _seen(self, path: str, sent: list[Message]) -> Seen:
        pairs = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
        set_now = {}
        for name, value in pairs:
            if name == "set-cookie":
                for morsel in SimpleCookie(value).values():
                    if self.keeps_cookies:
                        self.cookies[morsel["path"], morsel.key] = morsel.value
                    set_now[morsel.key] = value
        seen = Seen(sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:]), dict(pairs), set_now)
        if found := _PRESS.search(seen.body.decode("utf-8", "replace")):
            self.press_id = found[1]
        return seen
