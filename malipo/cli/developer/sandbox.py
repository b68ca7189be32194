"""The sandbox of `malipo trigger`: a service whose networks are simulated, so no money is real.

It calls the API as a merchant's program does, and answers the simulated phone as a person does. It refuses to create a
payment where it is not sure that the two belong together.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec

from malipo import randomness
from malipo.cli.developer.credentials import Access
from malipo.clock import loop_time
from malipo.errors import Forbidden, Impossible, Invalid, Refusal
from malipo.networks.connector import Type
from malipo.payments.idempotency import HEADER
from malipo.payments.transaction import Status

_PROMPT_SECONDS = 5.0
_END_SECONDS = 60.0
_LOOK_SECONDS = 0.05
_WAIT_SECONDS = 10  # How long the service holds its answer until a status changes.
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

Found = TypeVar("Found")
Transaction = dict[str, Any]


class Sandbox:
    def __init__(
        self, http: aiohttp.ClientSession, access: Access, phones_url: str, *, patience_seconds: float = 15.0
    ) -> None:
        self._http = http
        self._access = access
        self._phones_url = phones_url
        self._patience_seconds = patience_seconds  # until the simulator must have seen a payment

    async def check(self) -> None:
        """Refuse where money may be real: before anything is created."""
        no_simulator = (
            f"What is at {self._phones_url} does not answer as our simulator does, and this is for simulated networks "
            "only, where no money is real."
        )
        try:
            control, callbacks = await self._phones("/api/control"), await self._phones("/api/callbacks")
        except Impossible:
            raise Forbidden(no_simulator) from None
        is_control = isinstance(control, dict) and {"speed", "channels"} <= control.keys()
        if not is_control or not isinstance(callbacks, dict):
            raise Forbidden(no_simulator)
        if _origin(self._access.base_url) not in {_origin(url) for url in callbacks.values() if isinstance(url, str)}:
            raise Forbidden(
                f"The simulator at {self._phones_url} does not work for {self._access.base_url} (it tells its results "
                "elsewhere: /api/callbacks), so the money there may be real."
            )

    async def take(self, type_: Type, fields: dict[str, Any]) -> Transaction:
        """Ask for a payment, as a merchant's program does."""
        path = "/v1/payments" if type_ is Type.COLLECTION else "/v1/payments/disburse"
        # Some merchants require one, and it shows how it is done.
        return await self._api("POST", path, fields, {HEADER: f"trigger-{randomness.token_hex(16)}"})

    async def cancel(self, payment: Transaction) -> Transaction | None:
        """Take it back; None if it was too late."""
        try:
            return await self._api("POST", f"/v1/payments/{payment['id']}/cancel")
        except Refusal as refusal:
            if refusal.code == "not_cancellable":
                return None
            raise

    async def until_seen(self, payment: Transaction, phone: str) -> Transaction:
        """The payment, as soon as the simulator has it. If it never does, another network may have it."""
        key = payment["reference"].rpartition("-")[2]

        async def look() -> bool:
            seen = await self._phones(f"/api/seen?limit=50&phone={quote(phone)}")
            return any(str(each["reference"]).endswith(key) for each in seen)

        if await _within(self._patience_seconds, look):
            return await self._api("GET", f"/v1/payments/{payment['id']}")
        reference = payment["reference"]
        if await self.cancel(payment):
            raise Impossible(
                f"{reference} did not leave the service within {self._patience_seconds:g} s, and is cancelled. "
                "Does a worker run, and is the channel connected?"
            )
        raise Impossible(
            f"{reference} left the service, and the simulator at {self._phones_url} has not seen it: "
            "whatever this channel is connected to may move real money. Look at it before you go on."
        )

    async def answer(self, phone: str, action: str) -> None:
        """Answer the prompt as a person at the phone does. Without a prompt, the phone's number decides."""

        async def look() -> str | None:
            prompts = await self._phones(f"/api/prompts?phone={quote(phone)}")
            return next((each["id"] for each in prompts), None)

        if prompt := await _within(_PROMPT_SECONDS, look):
            # The phone may have answered by itself just now, as its number says; what then counts is how it ends.
            await self._call("POST", f"{self._phones_url}/api/prompts/{prompt}", {"action": action})

    async def until_ended(self, payment: Transaction) -> Transaction:
        async def look() -> Transaction | None:
            found = await self._api("GET", f"/v1/payments/{payment['id']}?wait={_WAIT_SECONDS}")
            return found if Status(found["status"]).is_final else None

        ended = await _within(_END_SECONDS, look)
        if ended is None:
            raise Impossible(f"{payment['reference']} has not ended within {_END_SECONDS:g} s.")
        return ended

    async def _api(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Transaction:
        """Call the service. A refusal is shown in the service's own words."""
        sent = {"x-api-key": self._access.api_key, **(headers or {})}
        answer, content = await self._call(method, self._access.base_url + path, body, headers=sent)
        if answer.status < 300 and isinstance(content, dict) and isinstance(content.get("transaction"), dict):
            return dict(content["transaction"])
        if answer.status < 500 and isinstance(content, dict) and isinstance(content.get("error"), str):
            code = answer.headers.get("X-Error-Code")
            raise Invalid(content["error"], code=code, details=content.get("details"))
        raise Impossible(f"{self._access.base_url} does not answer as malipo does (HTTP {answer.status}).")

    async def _phones(self, path: str) -> Any:
        """The phones, as the simulator lists them."""
        answer, content = await self._call("GET", self._phones_url + path)
        if answer.status != 200:
            raise Impossible(f"{self._phones_url} does not answer as our simulator does (HTTP {answer.status}).")
        return content

    async def _call(
        self, method: str, url: str, body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> tuple[aiohttp.ClientResponse, Any]:
        timeout = aiohttp.ClientTimeout(total=_WAIT_SECONDS + 15)
        try:
            async with self._http.request(
                method, url, json=body, headers=headers, timeout=timeout, allow_redirects=False
            ) as answer:
                return answer, msgspec.json.decode(await answer.read())
        except (aiohttp.ClientError, OSError, TimeoutError):
            raise Impossible(f"{_shown(url)} does not answer.") from None
        except (ValueError, RecursionError):
            raise Impossible(f"{_shown(url)} does not answer as malipo does.") from None


async def _within(seconds: float, look: Callable[[], Awaitable[Found]]) -> Found | None:
    """Wait for a result within a time."""
    deadline = loop_time() + seconds
    while not (found := await look()):
        if loop_time() > deadline:
            return None
        await asyncio.sleep(_LOOK_SECONDS)
    return found


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, "localhost" if host in _LOOPBACK else host, port


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
