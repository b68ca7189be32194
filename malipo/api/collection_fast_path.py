"""POST /v1/payments without a task, a request object and a response object, where nothing is unusual (decision 50).

It takes nearly all requests of the commonest kind: with an API key that this process has accepted before, an
Idempotency-Key, and a body without mistakes. They get the same answer, byte for byte, the same log line and the same
counts as from `app.py`, which answers all other requests; nothing has been done about those before.

The process remembers what never changes of an API key: its id and its merchant. Each request checks anew whether the
key is valid: in the statement that writes the payment or, where requests are counted, in `merchants/check_api_key.py`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.requests import Request

from malipo import log, tracing
from malipo.api.access_log import LoggedExchange
from malipo.api.http.protocol import WHOLE_BODY
from malipo.api.http.writer import Cycle
from malipo.api.parts import ApiParts
from malipo.api.payments import created_body
from malipo.api.request_credentials import require
from malipo.api.responses import replayed
from malipo.clock import loop_time
from malipo.db import DataError
from malipo.errors import OutcomeUnknown, Refusal, Unavailable
from malipo.http.body_limit import MOST_BODY_BYTES
from malipo.http.client_address import address_of, came_over_tls, is_among, parsed
from malipo.http.request_ids import request_id
from malipo.merchants.api_keys import COLLECTING, hash_of
from malipo.merchants.check_api_key import AccessRequest, Caller
from malipo.payments import idempotency
from malipo.payments.collection_fast_path_request import fast_request_of
from malipo.payments.initiate import InitiatedPayment, InitiateOutcome, NeedsUsualPath, PaymentRequest
from malipo.payments.transaction import Type
from malipo.rate_limit.sliding_window import RateClass

PATH = "/v1/payments"
_JSON = (b"content-type", b"application/json")


class CollectionFastPath:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._trusted = parts.settings.trusted_proxies
        self._counts_requests = bool(parts.settings.rate_limit_create)
        self._patience_seconds = parts.settings.database_patience_seconds

    def try_take(self, cycle: Cycle, usual: Callable[[], None]) -> bool:
        """Whether the fast path takes the request, even if it calls `usual` later. If not, nothing has been done."""
        scope: Any = cycle.scope
        if scope["method"] != "POST" or tracing.active is not None or self._parts.health.monitor.schema.problem:
            return False
        if (keys := self._keys_in(scope)) is None or len(scope[WHOLE_BODY]) > MOST_BODY_BYTES:
            return False
        api_key, idempotency_key = keys
        key_hash = hash_of(api_key.strip(b" \t"))
        known = self._parts.known_keys.get(key_hash)
        if known is None:
            return False
        key_id, merchant_id = known
        idempotency_text = idempotency_key.decode("latin-1").strip(" \t")
        network_key = self._parts.payments.derived_key(merchant_id, Type.COLLECTION, idempotency_text)
        if network_key is None or idempotency.problem_with(idempotency_text):
            return False
        now = self._parts.clock()
        wanted = fast_request_of(
            scope[WHOLE_BODY],
            merchant_id,
            key=idempotency_text,
            network_key=network_key,
            terms=self._parts.payments.terms,
            now=now,
            created_by=key_id,
            is_key_checked=self._counts_requests,
        )
        if wanted is None:
            return False
        exchange = LoggedExchange(
            scope, cycle.send, request_id(scope, now), is_secure=came_over_tls(scope, self._trusted)
        )
        exchange.route = PATH
        exchange.caller = {"merchant": merchant_id, "key": key_id}
        request = _FastRequest(self._parts, cycle, exchange, wanted, usual, self._patience_seconds)
        if self._counts_requests:
            request.authenticate(AccessRequest(key_hash, address_of(Request(scope), self._trusted), RateClass.CREATE))
        else:
            request.create()
        return True

    def _keys_in(self, scope: Any) -> tuple[bytes, bytes] | None:
        """The API key and the Idempotency-Key of the headers. None if one of them is missing or sent twice, or if
        X-Forwarded-For does not come from a trusted proxy: `app.py` warns of that."""
        api_key = idempotency_key = None
        for name, value in scope["headers"]:
            if name == b"x-api-key":
                if api_key is not None:
                    return None
                api_key = value
            elif name == b"idempotency-key":
                if idempotency_key is not None:
                    return None
                idempotency_key = value
            elif name == b"x-forwarded-for" and not self._is_of_proxy(scope):
                return None
        return None if api_key is None or idempotency_key is None else (api_key, idempotency_key)

    def _is_of_proxy(self, scope: Any) -> bool:
        client = scope["client"]
        address = parsed(client[0]) if client else None
        return address is not None and is_among(address, self._trusted)


class _FastRequest:
    """A request on the fast path."""

    __slots__ = ("_cycle", "_deadline", "_exchange", "_loop", "_parts", "_usual", "_wanted")

    def __init__(
        self,
        parts: ApiParts,
        cycle: Cycle,
        exchange: LoggedExchange,
        wanted: PaymentRequest,
        usual: Callable[[], None],
        patience_seconds: float,
    ) -> None:
        self._parts = parts
        self._cycle = cycle
        self._exchange = exchange
        self._wanted = wanted
        self._usual = usual
        self._loop = asyncio.get_running_loop()
        self._deadline = loop_time() + patience_seconds

    def authenticate(self, request: AccessRequest) -> None:
        self._parts.authenticate.submit(request, deadline=self._deadline).add_done_callback(self._authenticated)

    def _authenticated(self, answer: "asyncio.Future[Caller | Refusal]") -> None:
        if (error := answer.exception()) is not None:
            # The usual way would wait as long again for the same database. Nothing was written.
            self._refuse(Unavailable() if isinstance(error, OutcomeUnknown) else error)
            return
        caller = answer.result()
        if not isinstance(caller, Caller):
            self._usual()  # A refused caller has not been counted yet: the usual way refuses and counts it.
            return
        self._exchange.rate_limit_status = caller.rate_limit_status
        try:
            require(caller, *COLLECTING)
        except Refusal as refusal:
            self._refuse(refusal)
        else:
            self.create()

    def create(self) -> None:
        self._parts.payments.submit(self._wanted, deadline=self._deadline).add_done_callback(self._created)

    def _created(self, answer: "asyncio.Future[InitiateOutcome]") -> None:
        error = answer.exception()
        outcome = answer.result() if error is None else error
        if isinstance(outcome, InitiatedPayment):
            self._parts.payments.signal(outcome)
            self._answer(outcome)
        elif isinstance(outcome, NeedsUsualPath | DataError):
            # Nothing was written. Where requests are counted, this rare one is counted twice.
            self._usual()
        else:
            self._refuse(outcome)

    def _answer(self, initiated: InitiatedPayment) -> None:
        body = created_body(initiated)
        replay = replayed(initiated.transaction.status) if initiated.is_replay else {}
        replay_headers = [(name.lower().encode(), value.encode()) for name, value in replay.items()]
        headers = [*replay_headers, (b"content-length", b"%d" % len(body)), _JSON, *self._exchange.headers_for(201)]
        if self._cycle.send_at_once(201, headers, body):
            self._end(initiated.transaction.id)
        else:
            self._spawn(self._send(headers, body, initiated.transaction.id))

    async def _send(self, headers: list[tuple[bytes, bytes]], body: bytes, transaction_id: str) -> None:
        """Send the answer to a client that reads slowly, or has disconnected."""
        try:
            await self._cycle.send({"type": "http.response.start", "status": 201, "headers": headers})
            await self._cycle.send({"type": "http.response.body", "body": body})
        finally:
            self._end(transaction_id)

    def _refuse(self, error: BaseException) -> None:
        self._spawn(self._answer_to(error))

    async def _answer_to(self, error: BaseException) -> None:
        log.bind(request=self._exchange.id)
        try:
            if isinstance(error, Exception):
                error = await self._parts.health.monitor.schema.explain(error)
            await self._exchange.answer_to(error, self._cycle.receive)
        finally:
            # The payment may exist: the log line gives its id, so that an engineer can look it up.
            may_exist = isinstance(error, OutcomeUnknown) and self._wanted.draft is not None
            self._end(self._wanted.draft.id if may_exist and self._wanted.draft else None)

    def _end(self, transaction_id: str | None) -> None:
        ids = {} if transaction_id is None else {"transaction": transaction_id}
        self._exchange.log_and_count(self._parts.metrics, request=self._exchange.id, **ids)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        _spawned.add(task)
        task.add_done_callback(_spawned.discard)


_spawned: set[asyncio.Task[None]] = set()  # The event loop holds tasks only weakly.
