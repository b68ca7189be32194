"""Checks the archive of a month. Needs nothing but Python 3.9 or later: python3 check_archive.py malipo-2026-10.zip

It imports nothing of malipo, and computes everything again from the files: hashes, signatures, the chain of the closed
days, and every balance. `--key FILE.pem` names the public key that you were given earlier, by another way than the
archive: without it, the archive vouches for itself.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple
from xml.etree import ElementTree

MANIFEST = "MANIFEST.sha256"
SIGNATURE = "MANIFEST.sig"
NO_FEES = ("opening", "vat", "line", "bank_line", "undo", "late")  # kinds of entries that move fees, and charge nobody
# Of a payment that has completed, and of a payout that has not: the entry that ends it.
ENDS = {("COLLECTION", "COMPLETED"): "collection", ("DISBURSEMENT", "COMPLETED"): "payout_paid"}
GIVEN_BACK = ("FAILED", "CANCELLED")
OF_PAYMENTS = ("collection", "payout_reserved", "payout_paid", "payout_given_back")
OF_SETTLEMENTS = ("settlement_reserved", "settlement_paid", "settlement_given_back")
LATE_DAYS = 7  # What is committed after the close of so late a day may be in the journal of the next month.
HEADING = b"malipo: daily close 1\n"
HEADING_OF_LIST = b"malipo: archive of a month 1\n"

# The first line of an entry, and a line of it that moves an amount. (Lines that state a balance are others.)
ENTRY = re.compile(r"(\d{4}-\d\d-\d\d) \* ")
POSTINGS = {
    "journal.beancount": re.compile(r" {2}([A-Z][A-Za-z0-9:-]*) {2}(-?\d+) TZS"),
    "journal.hledger": re.compile(r" {4}([A-Z][A-Za-z0-9:-]*) {2}TZS (-?\d+)"),
}

# Ed25519, as RFC 8032 describes it: y² - x² = 1 + d·x²·y² in the numbers below P. Slow, and only to verify.
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)

Point = tuple[int, int, int, int]


def add(a: Point, b: Point) -> Point:
    p = (a[1] - a[0]) * (b[1] - b[0]) % P
    q = (a[1] + a[0]) * (b[1] + b[0]) % P
    r, s = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = q - p, s - r, s + r, q + p
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number: int, point: Point) -> Point:
    result: Point = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = add(result, point)
        point, number = add(point, point), number >> 1
    return result


def point_of(text: bytes) -> Point | None:
    value = int.from_bytes(text, "little")
    y, sign = value & ((1 << 255) - 1), value >> 255
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT % P
    if x * x % P != square or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key, nonce, scalar = point_of(public_key), point_of(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or nonce is None or scalar >= ORDER:
        return False
    assert BASE is not None
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % ORDER
    ours, theirs = times(scalar, BASE), add(nonce, times(challenge, key))
    return (ours[0] * theirs[2] - theirs[0] * ours[2]) % P == 0 and (ours[1] * theirs[2] - theirs[1] * ours[2]) % P == 0


def key_of(pem: str) -> bytes:
    """The last 32 bytes of what stands between the first and the last line."""
    return base64.b64decode("".join(re.sub("-----[^-]*-----", "", pem).split()))[-32:]


class Day(NamedTuple):
    name: str
    previous: str
    hash: str
    balances: dict[str, int]  # of each account at the end of the day: debits above zero


class Moved(NamedTuple):
    """An entry of the journal about a payment or a settlement."""

    kind: str
    merchants: tuple[str, ...]
    wallet: int  # what it adds to the merchant's wallet
    held: int  # what it takes out of what is in flight, or in settlement
    fees: int
    late_of: str


class Lines:
    """The lines of a journal: a hash of each day."""

    def __init__(self) -> None:
        self._days: dict[str, Any] = defaultdict(hashlib.sha256)

    def add(self, day: str, path: str, amount: int) -> None:
        if amount:
            self._days[day].update(f"{path} {amount}\n".encode())

    def days_that_differ(self, other: Lines) -> list[str]:
        ours, theirs = ({day: each.digest() for day, each in lines._days.items()} for lines in (self, other))
        return sorted(day for day in ours.keys() | theirs.keys() if ours.get(day) != theirs.get(day))


class Check:
    def __init__(self, archive: zipfile.ZipFile, given_keys: set[bytes]) -> None:
        self.archive = archive
        self.given_keys = given_keys
        self.findings: list[str] = []
        self.questions: list[str] = []  # what is as the books say, and somebody must ask about
        self.done: list[str] = []
        self.names = set(archive.namelist())
        self.fees: dict[str, int] = defaultdict(int)  # that each merchant was charged, by the journal
        self.moved: dict[str, list[Moved]] = defaultdict(list)  # by payment and settlement
        self.accounts: dict[str, str] = {}  # by their codes
        self.names_merchants = False  # the journal of an earlier version does not

    def find(self, what: str) -> None:
        self.findings.append(what)

    def read(self, name: str) -> bytes:
        with self.archive.open(name) as file:
            return file.read()

    def rows(self, name: str) -> Iterator[dict[str, str]]:
        with self.archive.open(name) as file:
            yield from csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline=""))

    def run(self) -> None:
        if self._hashes():
            days = self._closes()
            fees = self._journal(days)
            self._other_journals()
            if days:
                first, last = days[0].name[:8] + "01", days[-1].name
                self._try("payments.csv", lambda: self._payments(first, last))
                self._try("settlements.csv", lambda: self._settlements(first, last))
            self._try("a list of statements", self._files)
            self._try("statements/networks.csv", self._balances_of_networks)
            self._try("bank/statements.csv", self._balances_of_the_bank)
            self._try("invoices.csv", lambda: self._invoices(fees))
            self._try("suspense.csv", self._suspense)
            self._try("bank/reconciliation.csv", self._bank)

    def _try(self, what: str, check: Callable[[], None]) -> None:
        """A file that cannot be read is a finding, and no reason to stop."""
        try:
            check()
        except (KeyError, ValueError, ArithmeticError, AttributeError, csv.Error) as error:
            self.find(f"{what} cannot be read: {error!r}")

    def _hashes(self) -> bool:
        listed = {}
        for line in self.read(MANIFEST).decode().splitlines():
            expected, _, name = line.partition("  ")
            listed[name] = expected
        for name in sorted(self.names - {MANIFEST, SIGNATURE} - listed.keys()):
            self.find(f"{name} is not in {MANIFEST}")
        for name, expected in listed.items():
            if name not in self.names:
                self.find(f"{name} is missing")
            elif self._hash(name) != expected:
                self.find(f"{name} was changed: its SHA-256 is not that of {MANIFEST}")
        self.done.append(f"{len(listed):,} files are those of {MANIFEST}.")
        is_whole = not self.findings
        self._signature_of_list()
        return is_whole

    def _signature_of_list(self) -> None:
        """By a key that signs closes: what is of one merchant, statements and invoices are in no close."""
        message = HEADING_OF_LIST + self.read(MANIFEST)
        signature = self.read(SIGNATURE) if SIGNATURE in self.names else b""
        keys = self.given_keys or set(self._keys().values())
        if not any(is_signed(key, message, signature) for key in keys):
            self.find(f"{MANIFEST} is not signed by the key of the closed days")
        else:
            self.done.append(f"{MANIFEST} is signed by the key of the closed days.")

    def _keys(self) -> dict[str, bytes]:
        return {
            name[len("closes/") : -len(".pem")]: key_of(self.read(name).decode())
            for name in self.names
            if name.startswith("closes/") and name.endswith(".pem")
        }

    def _hash(self, name: str) -> str:
        digest = hashlib.sha256()
        with self.archive.open(name) as file:
            for piece in iter(lambda: file.read(1 << 20), b""):
                digest.update(piece)
        return digest.hexdigest()

    def _closes(self) -> list[Day]:
        """Each closed day is signed, and names the hash of the day before."""
        keys = self._keys()
        if self.given_keys and not set(keys.values()) <= self.given_keys:
            self.find("the key in the archive is not the one that you were given")
        signed = sorted(name for name in self.names if re.fullmatch(r"closes/close-.*\.signed", name))
        days = [self._close(name, keys) for name in signed]
        for number, day in enumerate(days[1:]):
            before = days[number]
            if day.previous != before.hash:
                self.find(f"the close of {day.name} does not follow that of {before.name}")
        if not days or (date.fromisoformat(days[-1].name) + timedelta(days=1)).day != 1:
            self.find("the close of the last day of the month is missing")
        self.done.append(f"{len(days):,} closed days are signed, and each names the hash of the one before.")
        if days:
            self.done.append(f"The last hash is {days[-1].hash}.")
        return days

    def _close(self, name: str, keys: dict[str, bytes]) -> Day:
        message, signature = self.read(name), self.read(name[: -len("signed")] + "sig")
        fields: dict[str, Any] = json.loads(message[len(HEADING) :])
        day, key = fields["day"], keys.get(fields["key_id"])
        if not message.startswith(HEADING) or key is None or not is_signed(key, message, signature):
            self.find(f"the signature of {day} is wrong")
        if name != f"closes/close-{day}.signed":
            self.find(f"{name} is the close of {day}")
        previous, own = base64.b64decode(fields["previous"] or ""), base64.b64decode(fields["hash"])
        if hashlib.sha256(previous + fields["content"].encode()).digest() != own:
            self.find(f"the hash of {day} is not that of its content")
        content = json.loads(fields["content"])
        balances = {account: -amount for account, amount in content["balances"].items() if amount}
        return Day(day, previous.hex(), own.hex(), balances)

    def _journal(self, days: list[Day]) -> int:
        """The entries lead to the balances that the closes have signed, day by day, and to the trial balance. Returns
        the fees that merchants were charged."""
        self.accounts = {row["code"]: row["account"] for row in self.rows("accounts.csv")}
        signed = {day.name: day.balances for day in days}
        ledger: dict[str, int] = defaultdict(int)
        parts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        today, count, fees, seen = "", 0, 0, set()
        entry: list[dict[str, str]] = []

        def end(day: str) -> None:
            if day in signed and {each: amount for each, amount in ledger.items() if amount} != signed[day]:
                self.find(f"the journal does not lead to the balances that the close of {day} has signed")
            seen.add(day)

        for row in self.rows("journal/journal.csv"):
            if row["date"] != today:
                if row["date"] < today:
                    self.find(f"the journal goes back from {today} to {row['date']}")
                for day in sorted(signed):  # Days without an entry end with what the day before ended with.
                    if today <= day < row["date"] and day not in seen:
                        end(day)
                today = row["date"]
            if entry and (entry[0]["entry"], entry[0]["date"]) != (row["entry"], row["date"]):
                self._entry(entry)
                entry = []
            entry.append(row)
            account, of, count = self.accounts[row["accountCode"]], row["of"], count + 1
            debit, credit = int(row["debit"] or 0), int(row["credit"] or 0)
            if account == "fees" and row["kind"] not in NO_FEES:
                fees += credit - debit
            ledger[f"float {of}" if account == "float" else account] += debit - credit
            part = parts[row["accountCode"], of]
            if row["kind"] == "opening":
                part[0] += debit - credit
            else:
                part[1] += debit
                part[2] += credit
        self._entry(entry)
        for day in sorted(signed):
            if day not in seen:
                end(day)
        if sum(ledger.values()):
            self.find("debits and credits of the journal differ")
        self.done.append(f"{count:,} lines of the journal lead to the signed balances of every day.")
        self._trial_balance(parts)
        return fees

    def _entry(self, rows: list[dict[str, str]]) -> None:
        """What an entry says of its merchant, and of its payment or settlement."""
        if not rows or rows[0]["kind"] in NO_FEES:
            return
        sums: dict[str, int] = defaultdict(int)
        merchants = {row["of"] for row in rows if row["of"].startswith("mer_")}
        for row in rows:
            sums[self.accounts[row["accountCode"]]] += int(row["credit"] or 0) - int(row["debit"] or 0)
            merchants.add(row.get("merchantId") or "")
        about = tuple(map(sys.intern, sorted(merchants - {""})))
        self.names_merchants = "merchantId" in rows[0]
        if len(about) > 1:
            self.find(f"the entry {rows[0]['entry']} is of several merchants")
        if sums["fees"]:
            self.fees["".join(about[:1])] += sums["fees"]
        if rows[0]["entry"].startswith(("txn_", "stl_")):
            held = -sums["in_flight"] - sums["in_settlement"]
            moved = Moved(sys.intern(rows[0]["kind"]), about, sums["wallet"], held, sums["fees"], rows[0]["lateOf"])
            self.moved[rows[0]["entry"].partition(" ")[0]].append(moved)

    def _payments(self, first: str, last: str) -> None:
        """Each payment has the entries that its status says, and each entry of a payment has its payment."""
        seen: set[str] = set()
        waiting = 0
        for row in self.rows("payments.csv"):
            id_, amount, fee, status = row["id"], int(row["amount"]), int(row["fee"]), row["status"]
            if id_ in seen:
                self.find(f"payments.csv has {row['reference']} twice")
            seen.add(id_)
            expected = {
                "collection": (amount - fee, 0, fee),
                "payout_reserved": (-amount - fee, -amount - fee, 0),
                "payout_paid": (0, amount + fee, fee),
                "payout_given_back": (amount + fee, amount + fee, 0),
            }
            end = ENDS.get((row["type"], status))
            if row["type"] == "DISBURSEMENT" and status in GIVEN_BACK:
                end = "payout_given_back"
            may = {each for each in ("payout_reserved" if row["type"] == "DISBURSEMENT" else "", end) if each}
            kinds = self._compare(row, expected, may, "payments.csv")
            for kind, when in (("payout_reserved", row["createdAt"]), (end or "", row["endedAt"])):
                if kind in may and kind not in kinds and first <= _day(when):
                    waiting += self._is_missing(row, kind, when, last)
        self._without_row(OF_PAYMENTS, "txn_", seen, first, "payments.csv")
        if waiting:
            said = "entries of payments of the last days are not in the journal: they were committed after their close"
            self.questions.append(f"{waiting:,} {said}, and must be in that of the next month.")
        self.done.append(f"{len(seen):,} payments have their entries in the journal, and each entry its payment.")

    def _settlements(self, first: str, last: str) -> None:
        """The same of settlements: so each is debited at most once, and is in the wallet again if it came back."""
        seen: set[str] = set()
        keys: set[str] = set()
        for row in self.rows("settlements.csv"):
            if row["id"] in seen or row["key"] in keys:
                self.find(f"settlements.csv has {row['reference']} twice")
            seen.add(row["id"])
            keys.add(row["key"])
            amount, fee, status = int(row["amount"]), int(row["fee"]), row["status"]
            told = [name for name in ("cancelledAt", "returnedAt", "completedAt", "sentAt") if row[name]]
            is_named = {"CANCELLED": "cancelledAt", "RETURNED": "returnedAt", "COMPLETED": "completedAt"}
            if told and told[0] != is_named.get(status, "sentAt"):
                self.find(f"settlements.csv says that {row['reference']} is {status}, and has {told[0]}")
            if int(row["netAmount"]) != amount - fee:
                self.find(f"{row['reference']} in settlements.csv does not add up")
            if row["isAdopted"] == "yes":  # It was debited before it was here: what its wallet could not bear, it owes.
                continue
            expected = {"settlement_reserved": (-amount, -amount, 0), "settlement_paid": (0, amount, fee)}
            may = {"settlement_reserved"}
            may |= {"settlement_paid"} if row["completedAt"] else set()
            may |= {"settlement_given_back"} if status in ("RETURNED", "CANCELLED") else set()
            kinds = self._compare(row, expected, may, "settlements.csv")
            back = row["returnedAt"] or row["cancelledAt"]
            times = {
                "settlement_reserved": row["createdAt"],
                "settlement_paid": row["completedAt"],
                "settlement_given_back": back,
            }
            for kind in sorted(may - kinds):
                if first <= _day(times[kind]):
                    self._is_missing(row, kind, times[kind], last)
        self._without_row(OF_SETTLEMENTS, "stl_", seen, first, "settlements.csv")
        self.done.append(f"{len(seen):,} settlements have their entries in the journal, and each entry its settlement.")

    def _compare(
        self, row: dict[str, str], expected: dict[str, tuple[int, int, int]], may: set[str], file: str
    ) -> set[str]:
        """The kinds of entries that are there, after they were compared with the row."""
        what, kinds = row["reference"], set()
        for moved in self.moved.get(row["id"], ()):
            if moved.merchants != (row["merchantId"],) and (moved.merchants or self.names_merchants):
                self.find(f"the journal has {what} with another merchant than {file}")
            if moved.kind not in (*OF_PAYMENTS, *OF_SETTLEMENTS):
                continue
            if moved.kind in kinds:
                self.find(f"the journal has {moved.kind} of {what} twice")
            kinds.add(moved.kind)
            amounts = (moved.wallet, moved.held, moved.fees)
            if moved.kind not in may:
                self.find(f"{file} says that {what} is {row['status']}, and the journal has {moved.kind}")
            elif amounts != expected.get(moved.kind, amounts):
                self.find(f"the journal has other amounts of {what} than {file}")
        return kinds

    def _is_missing(self, row: dict[str, str], kind: str, when: str, last: str) -> int:
        """1 if it may be in the journal of the next month."""
        if _day(when) > str(date.fromisoformat(last) - timedelta(days=LATE_DAYS)):
            return 1
        self.find(f"the journal has no {kind} of {row['reference']}, which is {row['status']}")
        return 0

    def _without_row(self, kinds: tuple[str, ...], prefix: str, seen: set[str], first: str, file: str) -> None:
        for id_, entries in self.moved.items():
            if id_.startswith(prefix) and id_ not in seen:
                for each in entries:
                    if each.kind in kinds and not ("" < each.late_of < first):
                        self.find(f"the journal has {each.kind} of {id_}, and {file} does not have it")

    def _balances_of_networks(self) -> None:
        """Each statement leads from its opening to its closing balance, line by line, and the next one goes on."""
        count = 0
        by_account = defaultdict(list)
        for row in self.rows("statements/networks.csv"):
            if row["withdrawnAt"] or row["problems"]:
                continue
            by_account[row["channel"], row["account"]].append(row)
            if row["layout"] == "generic" and row["asItCame"] == "yes" and row["file"].lower().endswith(".csv"):
                count += self._balances_of(row)
        for rows in by_account.values():
            closing = {row["ends"]: row["closing"] for row in rows if row["ends"] and row["closing"]}
            for row in rows:
                before, opening = closing.get(row["begins"], ""), row["opening"]
                is_next = row["begins"] != row["ends"] and before and opening
                if is_next and Decimal(before) != Decimal(opening):
                    self.find(f"{row['name']} does not begin with what the statement before it ends with")
        self.done.append(f"{count:,} statements of networks lead from balance to balance.")

    def _balances_of(self, row: dict[str, str]) -> bool:
        """Of a table whose columns we know. Others only have their hashes."""
        text = self.read(row["file"]).decode("utf-8-sig", "replace")
        table = [each for each in csv.reader(io.StringIO(text)) if each]
        heads = [n for n, each in enumerate(table) if {"receipt", "time", "amount"} <= {name.lower() for name in each}]
        if not heads:
            return False
        names, lines = [name.lower() for name in table[heads[0]]], table[heads[0] + 1 :]
        try:
            amounts = [Decimal(each[names.index("amount")]) for each in lines]
            balances = [Decimal(each[names.index("balance")]) for each in lines] if "balance" in names else []
            opening, closing = Decimal(row["opening"]), Decimal(row["closing"])
        except (InvalidOperation, IndexError):
            return False
        if "status" in names:  # Not all of its lines may have moved money.
            return False
        after = range(1, len(balances))  # Oldest first, or newest first.
        down = all(balances[n] == balances[n - 1] + amounts[n] for n in after)
        up = all(balances[n - 1] == balances[n] + amounts[n - 1] for n in after)
        if opening + sum(amounts) != closing or not (down or up):
            self.find(f"{row['file']} does not lead from its opening to its closing balance")
        return True

    def _balances_of_the_bank(self) -> None:
        count = 0
        for row in self.rows("bank/statements.csv"):
            if not row["file"] or row["asItCame"] != "yes" or row["problems"]:
                continue
            content = self.read(row["file"])
            read = {"MT940": _mt940, "camt.053": _camt053}.get(row["format"], lambda _: None)
            if (moved := read(content)) is None or not row["openingCents"] or not row["closingCents"]:
                continue
            count += 1
            if int(row["openingCents"]) + moved != int(row["closingCents"]):
                self.find(f"{row['file']} does not lead from its opening to its closing balance")
        self.done.append(f"{count:,} statements of the bank lead from balance to balance.")

    def _other_journals(self) -> None:
        """The beancount and hledger journals have the lines of journal.csv, in its order. They are compared by day."""
        paths = {(row["code"], row["of"]): row["path"] for row in self.rows("trial-balance.csv")}
        expected = Lines()
        for row in self.rows("journal/journal.csv"):
            path = paths.get((row["accountCode"], row["of"]), "")
            expected.add(row["date"], path, int(row["debit"] or 0) - int(row["credit"] or 0))
        for name, posting in POSTINGS.items():
            found, today = Lines(), ""
            with self.archive.open(f"journal/{name}") as file:
                for line in io.TextIOWrapper(file, encoding="utf-8", newline="\n"):
                    if (begun := ENTRY.match(line)) is not None:
                        today = begun[1]
                    elif (posted := posting.fullmatch(line.rstrip("\n"))) is not None:
                        found.add(today, posted[1], int(posted[2]))
            if differing := expected.days_that_differ(found):
                self.find(f"journal/{name} differs from journal/journal.csv: {', '.join(differing[:5])}")
        self.done.append("The journals for beancount and hledger have the same lines.")

    def _trial_balance(self, parts: dict[tuple[str, str], list[int]]) -> None:
        told = {
            (row["code"], row["of"]): [int(row[name]) for name in ("opening", "debits", "credits")]
            for row in self.rows("trial-balance.csv")
        }
        for row in self.rows("trial-balance.csv"):
            if int(row["opening"]) + int(row["debits"]) - int(row["credits"]) != int(row["closing"]):
                self.find(f"the line {row['code']} {row['of']} of the trial balance does not add up")
        if told != dict(parts):
            self.find("the trial balance is not that of the journal")
        self.done.append(f"{len(told):,} lines of the trial balance are those of the journal.")

    def _files(self) -> None:
        """What came from networks and banks is what was imported, by its hash."""
        count = 0
        indexes = ("statements/networks.csv", "bank/statements.csv", "bank/payout-files.csv", "bank/reconciliation.csv")
        listed = set(indexes)
        for index in indexes[:3]:
            for row in self.rows(index):
                listed.add(row["file"])
                if row["file"] and row.get("asItCame", "yes") == "yes":
                    count += 1
                    if self._hash(row["file"]) != row["sha256"]:
                        self.find(f"{row['file']} is not the file with the SHA-256 in {index}")
        for name in sorted(self.names - listed):
            if name.startswith(("statements/", "bank/")):
                self.find(f"{name} is in no list of statements or payout files")
        self.done.append(f"{count:,} statements and payout files are as they came, by the hashes of their import.")

    def _invoices(self, fees: int) -> None:
        """Each document adds up, and all of them are the fees that the journal has before VAT was taken out."""
        count = sums = 0
        by_merchant: dict[str, int] = defaultdict(int)
        numbers: dict[str, dict[int, str]] = defaultdict(dict)
        files = set()
        for row in self.rows("invoices.csv"):
            count += 1
            series, _, number = row["number"].rpartition("-")
            if int(number) in numbers[series]:
                self.find(f"invoices.csv has {row['number']} twice")
            numbers[series][int(number)] = row["issuedAt"]
            files.add(row["file"])
            if row["file"] not in self.names or row["number"] not in row["file"]:
                self.find(f"invoice {row['number']} has no file of its own")
            by_merchant[row["merchantId"]] += int(row["total"]) if row["kind"] == "invoice" else -int(row["total"])
            if int(row["net"]) + int(row["vat"]) != int(row["total"]):
                self.find(f"invoice {row['number']} does not add up")
            sums += int(row["total"]) if row["kind"] == "invoice" else -int(row["total"])
        if count and sums != fees:
            self.find(f"invoices less credit notes are {sums:,}, and the journal has fees of {fees:,}")
        for merchant in sorted(by_merchant.keys() | self.fees.keys()) if count and self.names_merchants else []:
            if by_merchant[merchant] != self.fees[merchant]:
                said = f"invoices less credit notes of {merchant} are {by_merchant[merchant]:,}"
                self.find(f"{said}, and the journal has fees of {self.fees[merchant]:,} of it")
        for name in sorted(self.names - files):
            if name.startswith("invoices/"):
                self.find(f"{name} is not in invoices.csv")
        for series, issued in numbers.items():
            self._gaps(series, issued)
        what = "add up to the fees of the journal" if count else "were issued"
        self.done.append(f"{count:,} invoices and credit notes {what}; the journal has fees of {fees:,}.")

    def _gaps(self, series: str, issued: dict[int, str]) -> None:
        """Documents of one commit have numbers without a gap. Between two commits another month may have some."""
        ordered = sorted(issued)
        for place, after in enumerate(ordered[1:]):
            before = ordered[place]
            if after > before + 1:
                said = f"of the series {series} the numbers from {before + 1:06} to {after - 1:06} are not here"
                if issued[before] == issued[after]:
                    self.find(said)
                else:
                    self.questions.append(f"{said}: they must be in the archive of another month.")

    def _closing(self, account: str) -> int:
        """What an account has at the end, by the trial balance."""
        codes = {row["code"] for row in self.rows("accounts.csv") if row["account"] == account}
        return sum(int(row["closing"]) for row in self.rows("trial-balance.csv") if row["code"] in codes)

    def _suspense(self) -> None:
        """Every shilling in suspense has its cause."""
        sums = [int(row["amount"]) for row in self.rows("suspense.csv")]
        if sum(sums) != -self._closing("suspense"):
            self.find(f"suspense.csv has {sum(sums):,}, and the trial balance {-self._closing('suspense'):,}")
        self.done.append(f"{len(sums):,} causes are all that is in suspense.")

    def _bank(self) -> None:
        """The bank's balance, less all that is on one side only, is that of the books. In cents."""
        sums: dict[str, int] = defaultdict(int)
        old = []
        for row in self.rows("bank/reconciliation.csv"):
            sums[row["row"]] += int(row["cents"])
            if row["row"] == "ours_only":
                old.append(abs(int(row["cents"])))
        books, told = sums.pop("books"), sums.pop("unexplained", 0)
        if books != 100 * self._closing("bank"):
            self.find("bank/reconciliation.csv has another balance of the books than the trial balance")
        unexplained = sums.pop("bank", 0) - sum(sums.values()) - books
        if unexplained != told:
            self.find("bank/reconciliation.csv does not lead from the bank's balance to that of the books")
        if unexplained:
            self.find(f"nothing explains {unexplained / 100:,.2f} between the bank's balance and the books")
        if old:
            said = (
                f"{len(old):,} entries of {sum(old) / 100:,.2f} in all are in the books for days, and not at the bank"
            )
            self.questions.append(f"{said} (ours_only).")
        self.done.append("From the bank's balance bank/reconciliation.csv leads to that of the books.")


def _day(moment: str) -> str:
    """The day in Dar es Salaam of a moment in UTC."""
    return str((datetime.fromisoformat(moment.replace("Z", "+00:00")) + timedelta(hours=3)).date()) if moment else ""


MT940_LINE = re.compile(r":61:\d{6}(?:\d{4})?(R?[CD])[A-Z]?(\d+(?:,\d{0,2})?)[A-Z]")


def _mt940(content: bytes) -> int | None:
    """What its lines have moved, in cents. None: it is of several accounts, or has lines of another kind."""
    lines = [each for each in content.decode("utf-8", "replace").splitlines() if each.startswith((":61:", ":25"))]
    found = [MT940_LINE.match(each) for each in lines if each.startswith(":61:")]
    if len({each for each in lines if each.startswith(":25")}) != 1 or None in found:
        return None
    return sum(
        int(100 * Decimal(each[2].replace(",", ".").rstrip("."))) * (1 if each[1] in ("C", "RD") else -1)
        for each in found
        if each is not None
    )


def _camt053(content: bytes) -> int | None:
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        return None
    try:
        root = ElementTree.fromstring(content)  # noqa: S314, it declares no entities
    except ElementTree.ParseError:
        return None
    space = root.tag.partition("}")[0] + "}" if "}" in root.tag else ""
    statements = list(root.iter(f"{space}Stmt"))
    if len(statements) != 1:
        return None
    total = 0
    for entry in statements[0].findall(f"{space}Ntry"):
        status = entry.find(f"{space}Sts")
        code = "" if status is None else (status.findtext(f"{space}Cd") or status.text or "").strip()
        if code not in ("", "BOOK"):
            continue
        sign = 1 if entry.findtext(f"{space}CdtDbtInd") == "CRDT" else -1
        total += sign * int(100 * Decimal(entry.findtext(f"{space}Amt") or "0"))
    return total


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Checks the archive of a month.")
    parser.add_argument("archive")
    parser.add_argument(
        "--key", action="append", default=[], help="the public key (PEM) that you were given by another way"
    )
    given = parser.parse_args(arguments)
    keys = set()
    for name in given.key:
        with open(name, encoding="ascii") as file:
            keys.add(key_of(file.read()))
    with zipfile.ZipFile(given.archive) as archive:
        check = Check(archive, keys)
        check.run()
    print("\n".join(check.done))
    for each in check.questions:
        print(f"ASK: {each}")
    for each in check.findings:
        print(f"WRONG: {each}")
    if not check.findings:
        print("Nothing is wrong." if keys else "Nothing is wrong, if the key in the archive is the right one (--key).")
    return 1 if check.findings else 0


if __name__ == "__main__":
    sys.exit(main())
