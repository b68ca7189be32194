"""Receives malipo's webhooks and marks orders as paid. Python 3.9 or newer and nothing else: copy it into your shop.

WEBHOOK_SECRET=whsec_… python3 receiver.py     PORT (3000) and DB (shop.db) may be set too. Two secrets while one is
being rotated: WEBHOOK_SECRET=whsec_old…,whsec_new…     A proxy that speaks TLS belongs in front of it.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import sqlite3
import sys
import time
import traceback
from contextlib import closing
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = os.environ.get("WEBHOOK_SECRET", "").split(",")
PORT, DB = int(os.environ.get("PORT", "3000")), os.environ.get("DB", "shop.db")
LARGEST_BODY, TOLERANCE_SECONDS = 1024 * 1024, 5 * 60
TABLES = """
CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, paid_by TEXT);
CREATE TABLE IF NOT EXISTS payments (reference TEXT PRIMARY KEY, order_id TEXT NOT NULL, status TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
INSERT INTO orders SELECT '17', 1000, NULL WHERE NOT EXISTS (SELECT * FROM orders); -- One to try it with.
"""


class RefusedError(Exception):
    """The HTTP status and the sentence to answer with."""


def verify(headers: Message, body: bytes) -> str:
    """The event's id, if both signatures are right. Only webhook-signature covers id and time, and so stops replays."""
    names = ("webhook-id", "webhook-timestamp", "webhook-signature", "X-Service-Signature")
    event_id, timestamp, standard, plain = (headers.get(name, "") for name in names)
    if not (event_id and standard and plain and re.fullmatch("[0-9]{1,12}", timestamp)):
        raise RefusedError(400, "a signature header is missing or malformed")
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        raise RefusedError(401, "the timestamp is too old or too new")
    good_standard, good_plain = [], []
    for secret in SECRETS:
        key = base64.b64decode(secret[len("whsec_") :])
        digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
        good_standard.append("v1," + base64.b64encode(digest).decode())
        good_plain.append(hmac.new(secret.encode(), body, hashlib.sha256).hexdigest())
    # During a rotation each comes twice, made with the old secret and with the new one. One that fits is enough.
    if not one_fits(standard.split(" "), good_standard):
        raise RefusedError(401, "webhook-signature is wrong")
    if not one_fits([plain, headers.get("X-Service-Signature-Next", "")], good_plain):
        raise RefusedError(401, "X-Service-Signature is wrong")
    return event_id


def one_fits(given: list[str], good: list[str]) -> bool:
    """compare_digest takes as long for a near miss as for a far one, so nobody can guess their way by the clock."""
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in given for other in good)


def take(event_id: str, body: bytes) -> str:
    """Do what the event asks for, once. Its id and the work are one transaction: a crash leaves both or neither."""
    try:
        told = json.loads(body.decode())
        event = told["event"]
        if not event.startswith("payment."):
            return f"{event}: nothing to do"  # A payout or a batch is not a sale, and webhook.test is nothing at all.
        payment = told["transaction"]
        reference, amount, status = payment["reference"], payment["amount"], payment["status"]
        order = str((payment.get("metadata") or {}).get("orderId", "-"))
        if not (isinstance(reference, str) and isinstance(amount, int) and isinstance(status, str)):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RefusedError(400, "the body is no event") from None
    with closing(sqlite3.connect(DB, timeout=5, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")  # Two at the same instant: one waits here for the other.
        is_new = db.execute("INSERT OR IGNORE INTO events VALUES (?)", [event_id]).rowcount
        outcome = settle(db, order, reference, amount, status) if is_new else "seen before"
        db.execute("COMMIT")
    return f"{event} {reference} TZS {amount:,} order {order}: {outcome}"


def settle(db: sqlite3.Connection, order: str, reference: str, amount: int, status: str) -> str:
    """What is slow, such as an e-mail, does not belong here: let something else look for orders that were paid."""
    known = "INSERT INTO payments VALUES (?, ?, ?) ON CONFLICT (reference) DO UPDATE SET status = excluded.status"
    known += " WHERE status IN ('PENDING', 'PROCESSING')"  # Events may overtake each other, but what is final stays.
    if not db.execute(known, [reference, order, status]).rowcount:
        return f"{status} comes late"
    if status != "COMPLETED":
        return f"is {status}"
    # The amount is what the customer paid, before any fee: it must be what the order costs.
    paid = "UPDATE orders SET paid_by = ? WHERE id = ? AND amount = ? AND paid_by IS NULL"
    if db.execute(paid, [reference, order, amount]).rowcount:
        return "marked paid"
    found = db.execute("SELECT amount, paid_by FROM orders WHERE id = ?", [order]).fetchone()
    if not found:
        return "PLEASE LOOK: no such order"
    return f"PLEASE LOOK: paid already by {found[1]}" if found[1] else f"PLEASE LOOK: it costs TZS {found[0]:,}"


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # Seconds of silence after which a caller is hung up on.

    def do_POST(self) -> None:
        try:
            length = self.headers.get("Content-Length", "")
            if not re.fullmatch("[0-9]{1,12}", length):
                raise RefusedError(411, "say Content-Length")
            if int(length) > LARGEST_BODY:
                raise RefusedError(413, "the body is too large")
            body = self.rfile.read(int(length))  # The bytes as they came: these were signed, not the JSON in them.
            line = take(verify(self.headers, body), body)
            print(line, flush=True)
            self.answer(200, line)
        except RefusedError as refused:
            self.answer(*refused.args)
        except Exception:  # Anything but 2xx, and malipo tries again later.
            traceback.print_exc()
            self.answer(500, "not stored, please try again")

    def answer(self, status: int, sentence: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(sentence.encode() + b"\n")

    def log_message(self, *_: object) -> None:
        """Silent: the line of each event says more."""


if __name__ == "__main__":
    if not all(re.fullmatch("whsec_[A-Za-z0-9+/]{43}=", secret) for secret in SECRETS):
        sys.exit("Set WEBHOOK_SECRET to the whsec_… that was shown when the endpoint was registered.")
    with closing(sqlite3.connect(DB)) as db:
        db.executescript(TABLES)
    print(f"receiving webhooks at http://127.0.0.1:{PORT}/", flush=True)
    ThreadingHTTPServer.request_queue_size = 128  # Many events may come at once, and five places are few.
    ThreadingHTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()
