"""Receivers of webhooks: they check the signature, and that each reported change was committed before."""

import asyncio
import base64
import hashlib
import hmac
from typing import Any

import msgspec

from simulation.database import SimulatedDatabase
from simulation.template import RECEIVER_PORT, SimulatedMerchant
from simulation.world import HOST, World

PROCESS = "receivers"


class Receivers:
    def __init__(self, world: World, accounts: list[SimulatedMerchant], database: SimulatedDatabase) -> None:
        self._world = world
        self._accounts = accounts
        self._database = database
        self.received: list[tuple[int, str]] = []  # the merchant and the event's id, in their order
        self.problems: list[str] = []
        world.loop.network.listen(HOST, RECEIVER_PORT, PROCESS, lambda: _Request(self))

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> None:
        number = int(path.strip("/")) - 1
        merchant = self._accounts[number]
        event_id = headers["webhook-id"]
        self.received.append((number, event_id))
        self._world.loop.history.note(self._world.loop.time(), "webhook", number, event_id)
        signed = f"{event_id}.{headers['webhook-timestamp']}.".encode() + body
        secret = base64.b64decode(merchant.secret.removeprefix("whsec_"))
        signature = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
        if f"v1,{signature}" not in headers["webhook-signature"].split():
            self.problems.append(f"webhook {event_id}: its signature is wrong")
        # Asked beside the loop, on another connection: it sees only what is committed.
        rows = self._database.look().ask(
            f"SELECT body FROM events WHERE merchant_id = '{merchant.id}' AND id = '{event_id}'"
            f" UNION ALL SELECT body FROM batch_events WHERE merchant_id = '{merchant.id}' AND id = '{event_id}'"
            f" UNION ALL SELECT body FROM link_events WHERE merchant_id = '{merchant.id}' AND id = '{event_id}'"
        )
        if not rows and self._database.brought_back_at is not None:
            return  # It may have been under way when the database was brought back, without its event.
        if not rows:
            self.problems.append(f"webhook {event_id}: it was sent before its event was committed")
        elif rows[0][0] != body.decode():
            self.problems.append(f"webhook {event_id}: it says something else than its event")
        msgspec.json.decode(body)


class _Request(asyncio.Protocol):
    def __init__(self, receivers: Receivers) -> None:
        self._receivers = receivers
        self._data = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if len(body) < int(headers["content-length"]):
            return
        self._receivers.receive(first.split()[1], headers, body)
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        self._transport.close()
