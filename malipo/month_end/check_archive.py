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
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, NamedTuple

MANIFEST = "MANIFEST.sha256"
SIGNATURE = "MANIFEST.sig"
NO_FEES = ("opening", "vat", "line", "bank_line", "undo", "late")  # kinds of entries that move fees, and charge nobody
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
            self._files()
            self._invoices(fees)
            self._suspense()
            self._bank()

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
        accounts = {row["code"]: row["account"] for row in self.rows("accounts.csv")}
        signed = {day.name: day.balances for day in days}
        ledger: dict[str, int] = defaultdict(int)
        parts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        today, count, fees, seen = "", 0, 0, set()

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
            account, of, count = accounts[row["accountCode"]], row["of"], count + 1
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
        for day in sorted(signed):
            if day not in seen:
                end(day)
        if sum(ledger.values()):
            self.find("debits and credits of the journal differ")
        self.done.append(f"{count:,} lines of the journal lead to the signed balances of every day.")
        self._trial_balance(parts)
        return fees

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
        for index in ("statements/networks.csv", "bank/statements.csv", "bank/payout-files.csv"):
            for row in self.rows(index):
                if row["file"] and row.get("asItCame", "yes") == "yes":
                    count += 1
                    if self._hash(row["file"]) != row["sha256"]:
                        self.find(f"{row['file']} is not the file with the SHA-256 in {index}")
        self.done.append(f"{count:,} statements and payout files are as they came, by the hashes of their import.")

    def _invoices(self, fees: int) -> None:
        """Each document adds up, and all of them are the fees that the journal has before VAT was taken out."""
        count = sums = 0
        for row in self.rows("invoices.csv"):
            count += 1
            if int(row["net"]) + int(row["vat"]) != int(row["total"]):
                self.find(f"invoice {row['number']} does not add up")
            sums += int(row["total"]) if row["kind"] == "invoice" else -int(row["total"])
        if count and sums != fees:
            self.find(f"invoices less credit notes are {sums:,}, and the journal has fees of {fees:,}")
        what = "add up to the fees of the journal" if count else "were issued"
        self.done.append(f"{count:,} invoices and credit notes {what}; the journal has fees of {fees:,}.")

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
