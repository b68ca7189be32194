"""A small shop with the Python client: an order is paid by phone, tried again after a failure, and refunded.

MALIPO_API_KEY=mlp_… MALIPO_URL=https://pay.example.com WEBHOOK_SECRET=whsec_… python3 shop.py
PORT (3000), DB (shop.db) and CATCH_UP_SECONDS (60) may be set too. A proxy that speaks TLS, and your own log-in, belong
in front of it. The API key needs payments.create, payments.read and events.read.

    POST /orders             {"amount": 5000, "phone": "+255754000001", "channel": "MPESA"}  a new order
    POST /orders/ID/pay      {"phone": …, "channel": …} if they change                       the customer tries again
    POST /orders/ID/refund   {"amount": 2000}, or {} for all that is left                    give money back
    GET  /orders/ID                                                                          how far it is
    POST /webhooks                                                                           malipo reports an event
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from malipo_client import (
    ApiError,
    CursorExpired,
    CursorLost,
    InvalidWebhook,
    Malipo,
    MalipoError,
    OutcomeUnknown,
    Transaction,
    verify_webhook,
)

PORT, DB = int(os.environ.get("PORT", "3000")), os.environ.get("DB", "shop.db")
CATCH_UP_SECONDS = float(os.environ.get("CATCH_UP_SECONDS", "60"))
SECRET = os.environ.get("WEBHOOK_SECRET", "")
OVER = ("FAILED", "CANCELLED", "REFUSED")
# An attempt is one payment of an order, and a refund is one payout of it: each has a number, and so a key of its own.
TABLES = """
CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS attempts (
    order_id TEXT NOT NULL, number INTEGER NOT NULL, phone TEXT NOT NULL, channel TEXT NOT NULL,
    payment TEXT, status TEXT NOT NULL DEFAULT 'NEW', sends INTEGER NOT NULL DEFAULT 0, amount INTEGER, failure TEXT,
    outcome TEXT, corrected_at TEXT NOT NULL DEFAULT '', refunded INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (order_id, number)
);
CREATE TABLE IF NOT EXISTS refunds (
    order_id TEXT NOT NULL, number INTEGER NOT NULL, attempt INTEGER NOT NULL, amount INTEGER,
    payout TEXT, status TEXT NOT NULL DEFAULT 'NEW', sends INTEGER NOT NULL DEFAULT 0, failure TEXT,
    PRIMARY KEY (order_id, number)
);
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS cursors (feed TEXT PRIMARY KEY, cursor TEXT NOT NULL);
"""


class NoSuchOrderError(Exception):
    pass


class NotNowError(Exception):
    """What was asked for must wait, or is done already."""


def status_of(amount: int, attempts: list[dict[str, Any]]) -> str:
    """The status of an order, computed from all its payments: a failed one may still turn out to be paid."""
    paid = [each for each in attempts if is_paid(each)]
    refunded = sum(each["refunded"] for each in paid)
    if sum(each["refunded"] < each["amount"] for each in paid) > 1:
        return "PAID_TWICE"  # Refund one of them.
    if any(each["amount"] != amount for each in paid):
        return "PLEASE_LOOK"
    if paid:
        received = sum(each["amount"] for each in paid)
        return "PAID" if received - refunded >= amount else "REFUNDED" if refunded == received else "PARTLY_REFUNDED"
    if any(each["status"] == "COMPLETED" for each in attempts):
        return "TAKEN_BACK"  # It was paid, and its network has reversed it. Talk to the customer.
    return str(attempts[-1]["status"])


def is_paid(attempt: dict[str, Any]) -> bool:
    return bool((attempt["outcome"] or attempt["status"]) == "COMPLETED")


class Shop:
    def __init__(self, malipo: Malipo) -> None:
        self.malipo = malipo
        with closing(sqlite3.connect(DB)) as db:
            db.executescript(TABLES)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it is kept, or nothing."""
        with closing(sqlite3.connect(DB, timeout=5, isolation_level=None)) as db:
            db.row_factory = sqlite3.Row
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")

    def order(self, amount: int, phone: str, channel: str) -> dict[str, Any]:
        """The order and its first attempt are stored before anything is sent.

        Its id is random: keys never expire, so a shop that begins anew must not use them again.
        """
        order = uuid.uuid4().hex
        with self.transaction() as db:
            db.execute("INSERT INTO orders VALUES (?, ?)", [order, amount])
            self.add_attempt(db, order, 1, phone, channel)
        return self.send_attempt(order)

    def pay(self, order: str, phone: str | None = None, channel: str | None = None) -> dict[str, Any]:
        """The customer tries again. Only when every attempt is over is there another one, with another key: to ask
        again while a payment is under way, or nobody knows whether there is one, may make the customer pay twice."""
        with self.transaction() as db:
            shown = self.shown(db, order)
            last = shown["attempts"][-1]
            if shown["status"] in OVER and all(each["status"] in OVER for each in shown["attempts"]):
                self.add_attempt(db, order, last["number"] + 1, phone or last["phone"], channel or last["channel"])
            elif last["status"] != "NEW":
                raise NotNowError(f"The order is {shown['status']}.")
        return self.send_attempt(order)

    def add_attempt(self, db: sqlite3.Connection, order: str, number: int, phone: str, channel: str) -> None:
        stored = "INSERT INTO attempts (order_id, number, phone, channel) VALUES (?, ?, ?, ?)"
        db.execute(stored, [order, number, phone, channel])

    def send_attempt(self, order: str) -> dict[str, Any]:
        """However often this is sent, the customer is asked once: the key is that of the attempt."""
        shown = self.show(order)
        last = shown["attempts"][-1]
        key = f"order-{order}-{last['number']}"
        changed = "UPDATE attempts SET {} WHERE order_id = ? AND number = ?"
        sends = self.count_send("attempts", last)
        if not sends:
            return self.show(order)
        try:
            payment = self.malipo.payments.collect(
                amount=shown["amount"],
                channel=last["channel"],
                buyer_phone=last["phone"],
                order_reference=order,
                metadata={"attempt": last["number"]},
                idempotency_key=key,
            )
        except ApiError as error:
            self.take_refusal("attempts", last, sends, key, error)
            raise
        with self.transaction() as db:
            db.execute(changed.format("payment = ?"), [payment.id, order, last["number"]])
            is_new = " AND status IN ('NEW', 'REFUSED')"
            db.execute(changed.format("status = 'PENDING'") + is_new, [order, last["number"]])
        return self.show(order)

    def count_send(self, table: str, row: dict[str, Any]) -> int:
        """Counted before each send. None, if it is known meanwhile what has become of it."""
        counted = f"UPDATE {table} SET sends = sends + 1 WHERE order_id = ? AND number = ? AND status = 'NEW'"
        which = [row["order_id"], row["number"]]
        with self.transaction() as db:
            if not db.execute(counted, which).rowcount:
                return 0
            found = db.execute(f"SELECT sends FROM {table} WHERE order_id = ? AND number = ?", which).fetchone()
            return int(found["sends"])

    def take_refusal(self, table: str, row: dict[str, Any], sends: int, key: str, error: ApiError) -> None:
        """It is REFUSED only if malipo has no payment of it: the first send was refused, or none has the key.

        The answer to an earlier send may have been lost, and a refusal of a later one says nothing of that payment.
        Whatever is not certain stays NEW: it is sent again with the same key, or an event tells what became of it.
        """
        refusal = error.__cause__ if isinstance(error, OutcomeUnknown) else error
        if not isinstance(refusal, ApiError) or refusal.status >= 500 or refusal.status == 429:
            return
        if sends > 1 or refusal is not error:
            try:
                if next(self.malipo.payments.list(idempotency_key=key), None):
                    return
            except MalipoError:
                return  # It cannot be looked up now.
        refused = f"UPDATE {table} SET status = 'REFUSED', failure = ? WHERE order_id = ? AND number = ?"
        nothing_since = " AND status = 'NEW' AND sends = ?"
        with self.transaction() as db:
            db.execute(refused + nothing_since, [refusal.code, row["order_id"], row["number"], sends])

    def refund(self, order: str, amount: int | None = None) -> dict[str, Any]:
        """Two clicks are one refund: there is another one only when the last one has ended."""
        with self.transaction() as db:
            shown = self.shown(db, order)
            last = shown["refunds"][-1] if shown["refunds"] else None
            if last is None or last["status"] in ("COMPLETED", *OVER):
                paid = [each for each in shown["attempts"] if is_paid(each) and each["refunded"] < each["amount"]]
                if not paid:
                    raise NotNowError(f"The order is {shown['status']}.")
                new = [order, len(shown["refunds"]) + 1, paid[-1]["number"], amount]
                db.execute("INSERT INTO refunds (order_id, number, attempt, amount) VALUES (?, ?, ?, ?)", new)
        return self.send_refund(order)

    def send_refund(self, order: str) -> dict[str, Any]:
        shown = self.show(order)
        refund = shown["refunds"][-1]
        payment = shown["attempts"][refund["attempt"] - 1]["payment"]
        key = f"refund-{order}-{refund['number']}"
        changed = "UPDATE refunds SET {} WHERE order_id = ? AND number = ?"
        sends = self.count_send("refunds", refund)
        if not sends:
            return self.show(order)
        try:
            payout = self.malipo.payments.refund(
                payment,
                amount="all" if refund["amount"] is None else refund["amount"],
                order_reference=f"{order}-{refund['number']}",
                idempotency_key=key,
            )
        except ApiError as error:
            self.take_refusal("refunds", refund, sends, key, error)
            raise
        with self.transaction() as db:
            told = changed.format("payout = ?, amount = ?")
            db.execute(told, [payout.id, payout.amount, order, refund["number"]])
            is_new = " AND status IN ('NEW', 'REFUSED')"
            db.execute(changed.format("status = 'PENDING'") + is_new, [order, refund["number"]])
        return self.show(order)

    def take(self, db: sqlite3.Connection, event_id: str, name: str, payment: Transaction | None) -> str:
        """An event, by webhook or from the feed. Its id and the work are one transaction: both are kept, or neither."""
        if not db.execute("INSERT OR IGNORE INTO events VALUES (?)", [event_id]).rowcount:
            return "seen before"
        if name.startswith("payment.") and payment:
            return self.take_payment(db, payment)
        return self.take_refund(db, payment) if payment and payment.refund_of else "nothing to do"

    def take_payment(self, db: sqlite3.Connection, payment: Transaction) -> str:
        found = [payment.order_reference, (payment.metadata or {}).get("attempt")]
        where = " WHERE order_id = ? AND number = ?"
        if None in found or not db.execute("SELECT 1 FROM attempts" + where, found).fetchone():
            return "no order of this shop"
        # Events overtake each other: no PENDING changes what is final, and of two corrections the later one counts.
        told = [payment.id, payment.amount, payment.refunded_amount or 0, *found]
        db.execute("UPDATE attempts SET payment = ?, amount = ?, refunded = max(refunded, ?)" + where, told)
        is_open = " AND status IN ('NEW', 'REFUSED', 'PENDING', 'PROCESSING')"  # An event stands above a refusal.
        told = [payment.status, payment.failure_code, *found]
        db.execute("UPDATE attempts SET status = ?, failure = ?" + where + is_open, told)
        if payment.correction is not None:
            corrected = [payment.correction.outcome, payment.correction.corrected_at]
            is_later = " AND corrected_at < ?"
            told = [*corrected, *found, payment.correction.corrected_at]
            db.execute("UPDATE attempts SET outcome = ?, corrected_at = ?" + where + is_later, told)
        return str(self.shown(db, str(found[0]))["status"])

    def take_refund(self, db: sqlite3.Connection, payout: Transaction) -> str:
        order, _, number = str(payout.order_reference or "").rpartition("-")
        # A failed refund that was paid after all has the outcome COMPLETED: do not send it again.
        status = payout.correction.outcome if payout.correction else payout.status
        told = "UPDATE refunds SET payout = ?, amount = ?, status = ? WHERE order_id = ? AND number = ?"
        may_change = " AND (status IN ('NEW', 'REFUSED', 'PENDING', 'PROCESSING') OR ?)"
        told_of = [payout.id, payout.amount, status, order, number, payout.correction is not None]
        return status if db.execute(told + may_change, told_of).rowcount else "no refund of this shop"

    def catch_up(self) -> None:
        """What no webhook has told, from the feed; and what was stored and never sent, with the same key."""
        for page in self.new_pages():
            with self.transaction() as db:
                for event in page.events:
                    self.take(db, event.id, event.event, event.transaction)
                db.execute("REPLACE INTO cursors VALUES ('events', ?)", [page.next])
        with self.transaction() as db:
            attempts = db.execute("SELECT DISTINCT order_id FROM attempts WHERE status = 'NEW'").fetchall()
            refunds = db.execute("SELECT DISTINCT order_id FROM refunds WHERE status = 'NEW'").fetchall()
        unsent = [(self.send_attempt, each) for each in attempts] + [(self.send_refund, each) for each in refunds]
        for send, each in unsent:
            try:
                send(each["order_id"])
            except ApiError as error:  # The others are sent all the same.
                print(f"not sent: {error}", file=sys.stderr, flush=True)

    def new_pages(self) -> Iterator[Any]:
        with self.transaction() as db:
            stored = db.execute("SELECT cursor FROM cursors WHERE feed = 'events'").fetchone()
        cursor = stored["cursor"] if stored else None
        while True:
            try:
                page = self.malipo.events.read(after=cursor)
            except CursorExpired:
                cursor = None  # From the oldest event that is kept.
                continue
            except CursorLost as error:
                cursor = error.go_on  # The service was restored: look up the payments of that time too.
                continue
            if page.events:
                yield page
            if len(page.events) < 100:
                return
            cursor = page.next

    def show(self, order: str) -> dict[str, Any]:
        with self.transaction() as db:
            return self.shown(db, order)

    def shown(self, db: sqlite3.Connection, order: str) -> dict[str, Any]:
        found = db.execute("SELECT * FROM orders WHERE id = ?", [order]).fetchone()
        if found is None:
            raise NoSuchOrderError
        rows = {
            name: [
                dict(each) for each in db.execute(f"SELECT * FROM {name} WHERE order_id = ? ORDER BY number", [order])
            ]
            for name in ("attempts", "refunds")
        }
        return {**found, "status": status_of(found["amount"], rows["attempts"]), **rows}


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
        except NotNowError as error:
            status, told = 409, {"error": str(error)}
        except InvalidWebhook as error:
            status, told = error.status, {"error": str(error)}
        except (ValueError, TypeError, KeyError) as error:
            status, told = 400, {"error": str(error)}
        except ApiError as error:
            status, told = error.status, {"error": str(error)}
        except MalipoError as error:  # No answer: the attempt is kept, and sent again with the same key.
            status, told = 503, {"error": str(error)}
        text = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def act(self, body: bytes) -> dict[str, Any]:
        if self.path == "/webhooks":
            event = verify_webhook(body, dict(self.headers), SECRET)
            with self.shop.transaction() as db:
                return {"done": self.shop.take(db, event.id, event.event, event.transaction)}
        asked = json.loads(body or b"{}")
        if self.path == "/orders" and self.command == "POST":
            return self.shop.order(int(asked["amount"]), str(asked["phone"]), str(asked["channel"]))
        path = re.fullmatch("/orders/([0-9a-f]{32})(?:/(pay|refund))?", self.path)
        if not path or bool(path[2]) != (self.command == "POST"):
            raise NoSuchOrderError
        if path[2] == "pay":
            return self.shop.pay(path[1], asked.get("phone"), asked.get("channel"))
        return self.shop.refund(path[1], asked.get("amount")) if path[2] else self.shop.show(path[1])

    def log_message(self, *_: object) -> None:
        """Silent."""


def catch_up_for_ever(shop: Shop) -> None:
    while True:
        try:
            shop.catch_up()
        except MalipoError as error:  # The next round tries again.
            print(f"not caught up: {error}", file=sys.stderr, flush=True)
        except Exception:
            traceback.print_exc()
        time.sleep(CATCH_UP_SECONDS)


if __name__ == "__main__":
    if not SECRET:
        sys.exit("Set WEBHOOK_SECRET to the whsec_… that was shown when the endpoint was registered.")
    Handler.shop = Shop(Malipo())
    threading.Thread(target=catch_up_for_ever, args=[Handler.shop], daemon=True).start()
    ThreadingHTTPServer.request_queue_size = 128  # Many events may come at once, and five places are few.
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    print(f"the shop is open at http://127.0.0.1:{PORT}/", flush=True)
    server.serve_forever()
