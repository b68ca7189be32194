"""The bank: its accounts, what it books, and its faults.

It refuses no repeated id: a file that is handed in twice is paid twice, as real banks do. Entries may be of later days:
a statement shows them when it is asked for those days.
"""

import os
from datetime import date, timedelta
from pathlib import Path

import msgspec

from malipo_simulator.bank import order_file
from malipo_simulator.bank.order_file import FileRefused, OrderFile, OrderLine

STARTING_BALANCE = 500_000_000
_SATURDAY = 5


class BankSwitches(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    refuse_files: str = ""  # why every file is refused whole; empty: none is
    refuse_accounts: dict[str, str] = {}  # transfers to these accounts are refused, and why
    return_accounts: dict[str, int] = {}  # transfers to these come back after so many days
    return_reason: str = "AC04 ACCOUNT CLOSED"
    books_one_sum: bool = False  # a file is booked as one sum, whatever it asks for
    lists_parts: bool = True  # a statement in camt.053 lists the parts of a sum
    charge_cents: int = 0  # that each file costs
    loses_files: bool = False  # it says that it has taken a file, and never books it


class BankEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    number: int
    day: date
    cents: int  # above 0 came in
    reference: str  # the bank's own
    end_to_end: str = ""
    message_id: str = ""
    name: str = ""
    text: str = ""
    reason: str = ""
    is_return: bool = False
    parts: tuple["BankEntry", ...] = ()  # of a sum


class TakenFile(msgspec.Struct, frozen=True, kw_only=True):
    """What the bank says of a file."""

    message_id: str
    status: str  # ACCP, PART, RJCT
    reason: str = ""
    refused: dict[str, str] = {}  # by EndToEndId
    booked_on: date | None = None


class _Kept(msgspec.Struct):
    entries: list[BankEntry] = []
    files: list[TakenFile] = []
    switches: BankSwitches = msgspec.field(default_factory=BankSwitches)


class BadBankSwitch(ValueError):  # noqa: N818
    """A switch that the bank does not have, or another kind of value."""


class Bank:
    def __init__(self, folder: Path | None = None, *, account: str = "22010012345", name: str = "MALIPO LTD") -> None:
        self.account = account
        self.bic = "NMIBTZTZ"
        self.name = name
        self._path = None if folder is None else folder / "bank.json"
        self._kept = _Kept()
        if self._path is not None and self._path.exists():
            self._kept = msgspec.json.decode(self._path.read_bytes(), type=_Kept)

    @property
    def switches(self) -> BankSwitches:
        return self._kept.switches

    @property
    def entries(self) -> list[BankEntry]:
        """All of them, by day."""
        return sorted(self._kept.entries, key=lambda each: (each.day, each.number))

    @property
    def files(self) -> list[TakenFile]:
        return list(self._kept.files)

    def reset(self) -> None:
        self._kept = _Kept()
        self._keep()

    def change(self, patch: object) -> None:
        """All of it, or nothing."""
        if not isinstance(patch, dict):
            raise BadBankSwitch("the body must be a JSON object")
        try:
            whole = {**msgspec.to_builtins(self.switches), **patch}
            self._kept.switches = msgspec.convert(whole, BankSwitches)
        except msgspec.ValidationError as error:
            raise BadBankSwitch(str(error)) from None
        self._keep()

    def take(self, content: bytes, day: date) -> TakenFile:
        """Take a payout file that was handed in on this day."""
        try:
            order = order_file.read(content)
            if order.account != self.account:
                raise FileRefused(f"AC01 {order.account!r} is no account of this customer")
            if self.switches.refuse_files:
                raise FileRefused(self.switches.refuse_files)
        except FileRefused as refused:
            found = TakenFile(message_id=_message_id(content), status="RJCT", reason=str(refused))
            self._kept.files.append(found)
            self._keep()
            return found
        taken = self._book(order, _business_day(max(day, order.day)))
        self._kept.files.append(taken)
        self._keep()
        return taken

    def deposit(self, cents: int, day: date, reference: str, text: str = "", *, end_to_end: str = "") -> BankEntry:
        """Money that comes in, or goes out, without a file; perhaps with a transfer's EndToEndId."""
        entry = self._entry(day, cents, reference=reference, text=text, end_to_end=end_to_end)
        self._keep()
        return entry

    def balance_cents(self, until: date) -> int:
        """At the end of a day."""
        return STARTING_BALANCE * 100 + sum(each.cents for each in self._kept.entries if each.day <= until)

    def _book(self, order: OrderFile, day: date) -> TakenFile:
        switches = self.switches
        refused = {
            each.end_to_end: switches.refuse_accounts[each.account]
            for each in order.lines
            if each.account in switches.refuse_accounts
        }
        paid = [each for each in order.lines if each.end_to_end not in refused]
        if switches.loses_files:
            return TakenFile(message_id=order.message_id, status="ACCP")
        if paid and (switches.books_one_sum or order.one_sum):
            self._book_sum(order, paid, day)
        else:
            for line in paid:
                self._entry(day, -line.amount * 100, message_id=order.message_id, line=line)
        if switches.charge_cents and paid:
            self._entry(day, -switches.charge_cents, text=f"CHARGES {order.message_id[:6]}")
        for line in paid:
            if (days := switches.return_accounts.get(line.account)) is not None:
                back = _business_day(day + timedelta(days=days))
                self._entry(back, line.amount * 100, line=line, reason=switches.return_reason, is_return=True)
        status = "RJCT" if not paid else "PART" if refused else "ACCP"
        return TakenFile(message_id=order.message_id, status=status, refused=refused, booked_on=day if paid else None)

    def _book_sum(self, order: OrderFile, paid: list[OrderLine], day: date) -> None:
        number = self._next()
        reference = f"FT{number:010}"
        parts = tuple(
            BankEntry(
                number=number,
                day=day,
                cents=-line.amount * 100,
                reference=reference,
                end_to_end=line.end_to_end,
                message_id=order.message_id,
                name=line.name,
                text=line.text,
            )
            for line in paid
        )
        self._kept.entries.append(
            BankEntry(
                number=number,
                day=day,
                cents=sum(each.cents for each in parts),
                reference=reference,
                message_id=order.message_id,
                text=f"BULK PAYMENT {len(parts)}",
                parts=parts,
            )
        )

    def _entry(
        self,
        day: date,
        cents: int,
        *,
        reference: str = "",
        message_id: str = "",
        line: OrderLine | None = None,
        text: str = "",
        reason: str = "",
        is_return: bool = False,
        end_to_end: str = "",
    ) -> BankEntry:
        number = self._next()
        entry = BankEntry(
            number=number,
            day=day,
            cents=cents,
            reference=reference or f"FT{number:010}",
            end_to_end=line.end_to_end if line else end_to_end,
            message_id=message_id,
            name=line.name if line else "",
            text=line.text if line else text,
            reason=reason,
            is_return=is_return,
        )
        self._kept.entries.append(entry)
        return entry

    def _next(self) -> int:
        return len(self._kept.entries) + 1

    def _keep(self) -> None:
        if self._path is not None:
            written = self._path.with_suffix(".new")
            written.write_bytes(msgspec.json.encode(self._kept))
            os.replace(written, self._path)


def _business_day(day: date) -> date:
    while day.weekday() >= _SATURDAY:
        day += timedelta(days=1)
    return day


def _message_id(content: bytes) -> str:
    try:
        return order_file.read(content).message_id
    except FileRefused:
        return ""
