"""A small shop with the Python client: an order is paid by phone, a webhook ends it, and it can be refunded.

MALIPO_API_KEY=mlp_… MALIPO_URL=https://pay.example.com WEBHOOK_SECRET=whsec_… python3 shop.py
PORT (3000) and DB (shop.db) may be set too. A proxy that speaks TLS, and your own log-in, belong in front of it.

    POST /orders          {"amount": 5000, "phone": "+255754000001", "channel": "MPESA"}   a new order, and its payment
    GET  /orders/ID                                                                        how far it is
    POST /orders/ID/refund                                                                 give the money back
    POST /webhooks                                                                         what malipo tells us
"""

import json
import os
import re
import sqlite3
import sys
import uuid
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from malipo_client import ApiError, InvalidWebhook, Malipo, MalipoError, Transaction, verify_webhook

PORT, DB = int(os.environ.get("PORT", "3000")), os.environ.get("DB", "shop.db")
SECRET = os.environ.get("WEBHOOK_SECRET", "")
TABLES = """
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, amount INTEGER NOT NULL, phone TEXT NOT NULL, channel TEXT NOT NULL,
    payment TEXT, status TEXT NOT NULL DEFAULT 'NEW', refund TEXT
);
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
"""


class NoSuchOrderError(Exception):
    pass


class Shop:
    def __init__(self, malipo: Malipo) -> None:
        self.malipo = malipo
        with self.database() as db:
            db.executescript(TABLES)
            unsent = [row["id"] for row in db.execute("SELECT id FROM orders WHERE payment IS NULL AND status = 'NEW'")]
        for order in unsent:  # We died between the order and its payment. The same key: it is never asked for twice.
            self.pay(order)

    def database(self) -> "closing[sqlite3.Connection]":
        db = sqlite3.connect(DB, timeout=5, isolation_level=None)
        db.row_factory = sqlite3.Row
        return closing(db)

    def order(self, amount: int, phone: str, channel: str) -> dict[str, Any]:
        """The order is stored before anything is sent: whatever happens then, we know what we have asked for."""
        order = uuid.uuid4().hex
        with self.database() as db:
            stored = "INSERT INTO orders (id, amount, phone, channel) VALUES (?, ?, ?, ?)"
            db.execute(stored, [order, amount, phone, channel])
        return self.pay(order)

    def pay(self, order: str) -> dict[str, Any]:
        """The key is made from the order, so however often this is sent, the customer is asked once.

        An id that is random is not used again by a shop that begins anew: keys never expire.
        """
        asked = self.show(order)
        try:
            payment = self.malipo.payments.collect(
                amount=asked["amount"],
                channel=asked["channel"],
                buyer_phone=asked["phone"],
                order_reference=order,
                idempotency_key=f"order-{order}",
            )
        except ApiError as error:
            if error.status >= 500:
                raise  # It stays NEW, and is sent again at the next start.
            with self.database() as db:
                db.execute("UPDATE orders SET status = 'REFUSED' WHERE id = ?", [order])
            raise
        with self.database() as db:
            db.execute("UPDATE orders SET payment = ? WHERE id = ?", [payment.id, order])
        return self.show(order)

    def refund(self, order: str) -> dict[str, Any]:
        refund = self.malipo.payments.refund(self.show(order)["payment"], idempotency_key=f"refund-{order}")
        with self.database() as db:
            db.execute("UPDATE orders SET refund = ? WHERE id = ?", [refund.id, order])
        return self.show(order)

    def take(self, event_id: str, name: str, payment: Transaction) -> str:
        """What a webhook tells. Its id and the work are one transaction: a crash leaves both or neither."""
        if not payment.order_reference or not name.startswith("payment."):
            return "nothing to do"  # A payout, a test, or no order.
        status = "REFUNDED" if name == "payment.refunded" else payment.status
        with self.database() as db:
            db.execute("BEGIN IMMEDIATE")
            if db.execute("INSERT OR IGNORE INTO events VALUES (?)", [event_id]).rowcount:
                # Events may overtake each other: what is final is only changed by a refund.
                changed = "UPDATE orders SET status = ?, payment = ? WHERE id = ? AND amount = ?"
                changed += " AND (status IN ('NEW', 'PENDING', 'PROCESSING') OR ? = 'REFUNDED')"
                db.execute(changed, [status, payment.id, payment.order_reference, payment.amount, status])
            db.execute("COMMIT")
        return status

    def show(self, order: str) -> dict[str, Any]:
        with self.database() as db:
            found = db.execute("SELECT * FROM orders WHERE id = ?", [order]).fetchone()
        if found is None:
            raise NoSuchOrderError
        return dict(found)


class Handler(BaseHTTPRequestHandler):
    shop: Shop
    timeout = 10  # Seconds of silence after which a caller is hung up on.

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1024 * 1024)))

    def answer(self, body: bytes) -> None:
        try:
            status, told = 200, self.act(body)
        except NoSuchOrderError:
            status, told = 404, {"error": "no such order"}
        except (InvalidWebhook, ValueError, TypeError, KeyError) as error:
            status, told = 400, {"error": str(error)}
        except ApiError as error:
            status, told = error.status, {"error": str(error)}
        except MalipoError as error:  # No answer: the order is kept, and sent again with the same key.
            status, told = 503, {"error": str(error)}
        text = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def act(self, body: bytes) -> dict[str, Any]:
        if self.path == "/webhooks":
            event = verify_webhook(body, dict(self.headers), SECRET)
            return {"done": self.shop.take(event.id, event.event, event.transaction)}
        if self.path == "/orders" and self.command == "POST":
            asked = json.loads(body)
            return self.shop.order(int(asked["amount"]), str(asked["phone"]), str(asked["channel"]))
        path = re.fullmatch("/orders/([0-9a-f]{32})(/refund)?", self.path)
        if not path:
            raise NoSuchOrderError
        return self.shop.refund(path[1]) if path[2] and self.command == "POST" else self.shop.show(path[1])

    def log_message(self, *_: object) -> None:
        """Silent."""


if __name__ == "__main__":
    if not SECRET:
        sys.exit("Set WEBHOOK_SECRET to the whsec_… that was shown when the endpoint was registered.")
    Handler.shop = Shop(Malipo())
    ThreadingHTTPServer.request_queue_size = 128  # Many events may come at once, and five places are few.
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    print(f"the shop is open at http://127.0.0.1:{PORT}/", flush=True)
    server.serve_forever()
