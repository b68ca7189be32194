"""The archive of a month: all that accountants and auditors get, as one ZIP file with the hashes of its members.

It is of a month whose days are all closed, so it is the same whenever it is made: nothing in it says when, by whom or
with which version. Only what people add later changes it: a statement of the month that comes after its close, an
invoice, another name of a merchant or of the company.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.books import store as books
from malipo.books.chart import CHART, SubAccount
from malipo.books.entry import Entry, EntryKind
from malipo.books.formats.journal_format import JournalWords
from malipo.books.read_journal import Period
from malipo.books.vouchers import read_vouchers
from malipo.books.write_journal import FORMATS, VOUCHER_ENDINGS, VOUCHERS, JournalWriter
from malipo.db import Conn, Row
from malipo.encryption import Encryption
from malipo.errors import Refusal
from malipo.invoices.document_words import InvoiceWords
from malipo.invoices.invoice import Invoice
from malipo.invoices.store import invoices
from malipo.ledger.check import prepare
from malipo.month_end import casework_files, store
from malipo.month_end.bank_reconciliation import find_bank_reconciliation
from malipo.month_end.cells import Cell, cell, money
from malipo.month_end.checklist import ArchiveRefusal
from malipo.month_end.month import Month
from malipo.month_end.zip_stream import Member, safe_name, zip_pieces
from malipo.reconciliation.close import files_to_verify, signing_key
from malipo.reconciliation.close.close_csv import csv_of
from malipo.reconciliation.close.printed_page import html_of
from malipo.reconciliation.close.store import closes, signing_keys
from malipo.table_files import store as kept_contents
from malipo.table_files.csv_export import csv_lines

HEADING = b"malipo: archive of a month 1\n"  # before the list of hashes, so that its signature is for nothing else
_PIECE = 64 * 1024  # characters that are written at once
_ROWS = 500  # of payments that are written at once
_JOURNALS = {"csv": "journal.csv", "beancount": "journal.beancount", "hledger": "journal.hledger"}


class ArchiveWords(NamedTuple):
    """The words of its files, in English whoever asks for it: another language would be other bytes."""

    journal: JournalWords
    types: Mapping[str, str]
    company: str | None  # whose closes they are, as their pages to print say
    invoice: Callable[[Invoice], InvoiceWords]


def file_name(month: Month) -> str:
    return f"malipo-{month}.zip"


async def find_key(connection: Conn, period: Period, encryption: Encryption) -> Ed25519PrivateKey:
    """The key of the last close. It signs the list of hashes too, because the closes have only sums of merchants, and
    nothing of statements and invoices. Callers look for it before they send the first byte."""
    last = await closes.find(connection, period.last)
    assert last is not None, period
    key = (await signing_key.find_keys(connection, encryption))[last.key_id]
    if key is None:
        raise Refusal(code=ArchiveRefusal.NO_KEY)
    return key


async def archive_pieces(
    connection: Conn, month: Month, words: ArchiveWords, period: Period, key: Ed25519PrivateKey
) -> AsyncIterator[bytes]:
    """The connection is a snapshot of the database, `period` that of `require_archivable`, and the key that of
    `find_key`."""
    await prepare(connection)
    await books.allow_slow_readers(connection)
    members = _Members(connection, month, words, period)
    async for piece in zip_pieces(members.all(), lambda manifest: key.sign(HEADING + manifest)):
        yield piece


class _Turnover:
    """What each account had at the beginning, was debited and credited, and has at the end: by the entries alone."""

    def __init__(self) -> None:
        self.sums: dict[SubAccount, list[int]] = {}

    def add(self, entry: Entry) -> None:
        for line in entry.lines:
            sums = self.sums.setdefault(line.account, [0, 0, 0])
            if entry.kind is EntryKind.OPENING:
                sums[0] += line.amount
            else:
                sums[1 if line.amount > 0 else 2] += abs(line.amount)

    def of(self, account: str) -> list[list[int]]:
        return [sums for each, sums in self.sums.items() if each.account == account]


class _Members:
    def __init__(self, connection: Conn, month: Month, words: ArchiveWords, period: Period) -> None:
        self._connection = connection
        self._month = month
        self._words = words
        self._closed = period
        # In the first month of all, days before the first close have entries too, and invoices have their fees.
        self._whole = Period(month.first, period.last)
        self._turnover = _Turnover()

    async def all(self) -> AsyncIterator[Member]:
        """In the order of the archive: each is read when it is written."""
        yield _text("README.txt", _packaged("read_me.txt").format(month=self._month, **_days(self._whole)))
        yield _text("COLUMNS.md", _packaged("columns.md"))
        yield _text("check_archive.py", _packaged("check_archive.py"))
        yield _csv("accounts.csv", ("code", "account", "name", "type", "path", "dividedBy"), self._accounts())
        async for member in self._closes():
            yield member
        # The first journal also sums what the trial balance says.
        for name, file in _JOURNALS.items():
            yield Member(f"journal/{file}", self._journal(name))
        vouchers = [each async for each in read_vouchers(self._connection, self._closed, with_opening=True)]
        for name, ending in VOUCHER_ENDINGS.items():
            format_ = VOUCHERS[name](self._words.journal)
            text = "".join([format_.begin(), *map(format_.voucher, vouchers), format_.end()])
            yield _text(f"journal/vouchers-{name}.{ending}", text)
        yield _csv("trial-balance.csv", _BALANCE, self._balances())
        async for member in self._statements():
            yield member
        async for member in self._bank():
            yield member
        yield Member("payments.csv", self._payments())
        yield Member("settlements.csv", self._settlements())
        async for member in self._invoices():
            yield member
        for name, pieces in casework_files.files_of(self._connection, self._month, self._words.journal.parts).items():
            yield Member(name, pieces)

    def _accounts(self) -> list[tuple[Cell, ...]]:
        names, types = self._words.journal.accounts, self._words.types
        return [
            (each.code, each.account, names[each.account], types[each.type], each.path, each.division) for each in CHART
        ]

    async def _closes(self) -> AsyncIterator[Member]:
        keys = await signing_keys.find_public(self._connection)
        used = set()
        for day in self._closed.days:
            closed = await closes.find(self._connection, day)
            assert closed is not None, day
            used.add(closed.key_id)
            for name, content in files_to_verify.files_of(closed, keys[closed.key_id]).items():
                if not name.endswith(".pem"):
                    yield _bytes(f"closes/{name}", content)
            yield _text(f"closes/close-{day}.csv", csv_of(closed.close))
            yield _text(f"closes/close-{day}.html", html_of(closed, keys[closed.key_id], company=self._words.company))
        for key_id in sorted(used):
            yield _text(f"closes/{key_id}.pem", files_to_verify.pem_of(keys[key_id]))

    async def _journal(self, format_: str) -> AsyncIterator[bytes]:
        seen = self._turnover.add if format_ == "csv" else None
        writer = JournalWriter(FORMATS[format_](self._words.journal), seen)
        async for piece in _joined(writer.pieces(self._connection, self._whole)):
            yield piece
        if writer.differing:
            raise Refusal(code=ArchiveRefusal.DIFFERS, day=str(next(iter(writer.differing))))

    def _balances(self) -> Iterable[tuple[Cell, ...]]:
        """A line for each account and each merchant, when the journal has been written."""
        words = self._words.journal
        for account, (opening, debit, credit) in sorted(self._turnover.sums.items()):
            yield (
                account.code,
                account.account,
                words.accounts[account.account],
                account.of,
                words.parts.get(account.of, "") if account.of else "",
                account.path,
                opening,
                debit,
                credit,
                opening + debit - credit,
            )

    # Statements, as they came.

    async def _statements(self) -> AsyncIterator[Member]:
        index = []
        for row in await store.find_network_files(self._connection, self._month):
            where = f"statements/{safe_name(row['channel'])}/{row['id']}"
            name = _kept_name(row) if row["withdrawn_at"] is None else ""
            index.append(_network_row(row, f"{where}-{name}" if name else ""))
            if not name:
                continue
            if row["is_kept"]:
                yield Member(f"{where}-{name}", kept_contents.read(self._connection, row["sha256"]))
            else:
                yield Member(f"{where}-{name}", self._network_lines(row["id"]))
        yield _csv("statements/networks.csv", _NETWORK_FILE, index)

    async def _network_lines(self, file_id: str) -> AsyncIterator[bytes]:
        columns = ("row", "time", "receipt", "kind", "amount", "balance", "key", "phone", "linked", "details")
        yield csv_lines([columns]).encode()
        async for row in store.lines_of_network_file(self._connection, file_id):
            yield csv_lines([_network_line(row)]).encode()

    async def _bank(self) -> AsyncIterator[Member]:
        index = []
        for row in await store.find_bank_statements(self._connection, self._month):
            name = f"bank/{row['id']}-{_kept_name(row)}" if row["state"] == "taken" else ""
            index.append(_bank_row(row, name))
            if name and row["is_kept"]:
                yield Member(name, kept_contents.read(self._connection, row["sha256"]))
            elif name:
                yield Member(name, self._bank_lines(row["id"]))
        yield _csv("bank/statements.csv", _BANK_FILE, index)
        files = []
        for row in await store.find_payout_files(self._connection, self._month):
            name = f"bank/payouts/{row['id']}-{safe_name(row['message_id'])}"
            files.append(_payout_row(row, name))
            yield Member(name, store.read_payout_file(self._connection, row["id"]))
        yield _csv("bank/payout-files.csv", _PAYOUT_FILE, files)
        held = sum(opening + debit - credit for opening, debit, credit in self._turnover.of("bank"))
        found = await find_bank_reconciliation(self._connection, self._month, ledger=held)
        yield _csv("bank/reconciliation.csv", casework_files.RECONCILIATION, casework_files.rows_of(found))

    async def _invoices(self) -> AsyncIterator[Member]:
        from malipo.invoices.pdf import pdf_of  # It takes a tenth of a second, and few processes ever need it.

        index = []
        async for each in invoices.read_latest(self._connection, month=self._month.first):
            name = f"invoices/{safe_name(each.number)}.pdf"
            index.append(_invoice_row(each, name))
            yield _bytes(name, pdf_of(each, self._words.invoice(each)))
        yield _csv("invoices.csv", _INVOICE, index)

    async def _bank_lines(self, statement_id: str) -> AsyncIterator[bytes]:
        columns = ("bookedOn", "reference", "key", "messageId", "part", "cents", "isReversal", "reason", "details")
        yield csv_lines([columns]).encode()
        async for row in store.lines_of_bank_statement(self._connection, statement_id):
            yield csv_lines([tuple(cell(each) for each in row.values())]).encode()

    async def _payments(self) -> AsyncIterator[bytes]:
        yield csv_lines([_PAYMENT]).encode()
        held: list[list[Cell]] = []
        async for row in store.payments_of(self._connection, self._month):
            cells = [cell(each) for each in row.values()]
            held.append([*cells[:3], self._words.journal.parts.get(row["merchant_id"], ""), *cells[3:]])
            if len(held) == _ROWS:
                yield csv_lines(held).encode()
                held = []
        yield csv_lines(held).encode()

    async def _settlements(self) -> AsyncIterator[bytes]:
        yield csv_lines([_SETTLEMENT]).encode()
        async for row in store.settlements_of(self._connection, self._month):
            merchant = self._words.journal.parts.get(row["merchant_id"], "")
            cells = [cell(each) for each in row.values()]
            yield csv_lines([(*cells[:4], merchant, *cells[4:7], row["amount"] - row["fee"], *cells[7:])]).encode()


_BALANCE = ("code", "account", "name", "of", "ofName", "path", "opening", "debits", "credits", "closing")
_NETWORK_FILE = (
    *("id", "channel", "account", "name", "sha256", "layout", "begins", "ends", "opening", "closing", "lines"),
    *("problems", "importedBy", "importedAt", "withdrawnAt", "asItCame", "file"),
)
_BANK_FILE = (
    *("id", "account", "name", "sha256", "format", "begins", "ends", "openingCents", "closingCents", "lines"),
    *("problems", "state", "importedBy", "importedAt", "decidedBy", "asItCame", "file"),
)
_PAYOUT_FILE = (
    *("id", "messageId", "status", "lines", "total", "sha256", "paysOn", "gatheredBy", "approvedBy", "approvedAt"),
    *("whyVoided", "file"),
)
_PAYMENT = (
    *("reference", "id", "merchantId", "merchant", "type", "channel", "amount", "fee", "createdAt", "status"),
    *("endedAt", "receipt", "failureCode", "failureReason", "failureDetail", "networkCode", "orderReference"),
    *("refundOf", "batchId", "isAdopted", "correctedAs", "credited", "correctedAt"),
)
_SETTLEMENT = (
    *("reference", "id", "key", "merchantId", "merchant", "status", "amount", "fee", "netAmount", "createdAt"),
    *("sentAt", "payoutFileId", "completedAt", "bookedOn", "bankReference", "returnedAt", "returnReason"),
    *("returnBookedOn", "returnBankReference", "cancelledAt", "isAdopted"),
)


_INVOICE = (
    *("number", "kind", "month", "issuedAt", "merchantId", "buyer", "buyerTin", "buyerVrn", "corrects"),
    *("fiscalNumber", "net", "vat", "total", "file"),
)


def _invoice_row(invoice: Invoice, file: str) -> tuple[Cell, ...]:
    buyer = invoice.buyer
    return (
        *(invoice.number, invoice.kind, f"{invoice.month:%Y-%m}", cell(invoice.issued_at), invoice.merchant_id),
        *(buyer.name, buyer.tin, buyer.vrn, invoice.corrects or "", invoice.fiscal_number or ""),
        *(invoice.net, invoice.vat, invoice.gross, file),
    )


def _network_row(row: Row, file: str) -> tuple[Cell, ...]:
    return (
        *(row["id"], row["channel"], row["account"], row["name"], row["sha256"].hex(), row["profile"]),
        *(cell(row["begins_at"]), cell(row["ends_at"])),
        *(money(row["opening"], row["opening_cents"]), money(row["closing"], row["closing_cents"])),
        *(row["line_count"], "; ".join(row["problems"]), row["imported_by"], cell(row["imported_at"])),
        *(cell(row["withdrawn_at"]), cell(row["is_kept"]), file),
    )


def _network_line(row: Row) -> tuple[Cell, ...]:
    return (
        *(row["row"], cell(row["moved_at"]), row["receipt"], row["kind"], money(row["amount"], row["cents"])),
        *(money(row["balance"], row["balance_cents"]), row["key"], row["phone"], row["linked"], row["details"]),
    )


def _bank_row(row: Row, file: str) -> tuple[Cell, ...]:
    names = (
        *("id", "account_number", "name", "sha256", "format", "begins_on", "ends_on", "opening", "closing"),
        *("line_count", "problems", "state", "imported_by", "imported_at", "decided_by", "is_kept"),
    )
    return (*(cell(row[name]) for name in names), file)


def _payout_row(row: Row, file: str) -> tuple[Cell, ...]:
    names = (
        *("id", "message_id", "status", "line_count", "total", "sha256", "pays_on", "gathered_by", "approved_by"),
        *("approved_at", "why_voided"),
    )
    return (*(cell(row[name]) for name in names), file)


def _kept_name(row: Row) -> str:
    """Of a file that is not kept as it came, its lines."""
    return safe_name(row["name"]) if row["is_kept"] else "lines.csv"


def _days(period: Period) -> dict[str, object]:
    return {"first": period.first, "last": period.last}


def _packaged(name: str) -> str:
    return resources.files("malipo.month_end").joinpath(name).read_text(encoding="utf-8")


def _text(name: str, text: str) -> Member:
    return _bytes(name, text.encode())


def _bytes(name: str, content: bytes) -> Member:
    async def pieces() -> AsyncIterator[bytes]:
        yield content

    return Member(name, pieces())


def _csv(name: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Member:
    async def pieces() -> AsyncIterator[bytes]:
        yield csv_lines([columns, *rows]).encode()

    return Member(name, pieces())


async def _joined(texts: AsyncIterator[str]) -> AsyncIterator[bytes]:
    """Fewer, larger pieces: a journal has one for each entry."""
    held: list[str] = []
    size = 0
    async for text in texts:
        held.append(text)
        size += len(text)
        if size >= _PIECE:
            yield "".join(held).encode()
            held, size = [], 0
    yield "".join(held).encode()
