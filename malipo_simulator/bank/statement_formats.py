"""The bank's statements of some days: camt.053.001.08, MT940, and the same table as CSV and XLSX. Pure."""

import csv
import io
from collections.abc import Callable, Iterator
from datetime import date, datetime
from xml.sax.saxutils import escape

from xlsxwriter import Workbook  # type: ignore[import-untyped]

from malipo_simulator.bank.bank import Bank, BankEntry


def entries_between(bank: Bank, first: date, last: date) -> list[BankEntry]:
    return [each for each in bank.entries if first <= each.day <= last]


def opening_cents(bank: Bank, first: date) -> int:
    closing = bank.balance_cents(first)
    return closing - sum(each.cents for each in bank.entries if each.day == first)


def _decimal(cents: int, point: str = ".") -> str:
    return f"{abs(cents) // 100}{point}{abs(cents) % 100:02}"


def _sign(cents: int) -> str:
    return "DBIT" if cents < 0 else "CRDT"


def camt053(bank: Bank, first: date, last: date) -> bytes:
    return "\n".join(_camt053(bank, first, last)).encode()


def _camt053(bank: Bank, first: date, last: date) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>'
    made = f"{last.isoformat()}T23:59:59+03:00"
    yield f"<GrpHdr><MsgId>CAMT{last:%Y%m%d}</MsgId><CreDtTm>{made}</CreDtTm></GrpHdr>"
    yield f"<Stmt><Id>{first:%Y%m%d}-{last:%Y%m%d}</Id><CreDtTm>{made}</CreDtTm>"
    yield f"<FrToDt><FrDtTm>{first}T00:00:00+03:00</FrDtTm><ToDtTm>{made}</ToDtTm></FrToDt>"
    yield f"<Acct><Id><Othr><Id>{bank.account}</Id></Othr></Id><Ccy>TZS</Ccy></Acct>"
    for code, cents, day in (("OPBD", opening_cents(bank, first), first), ("CLBD", bank.balance_cents(last), last)):
        yield f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>{_amount(cents)}<Dt><Dt>{day}</Dt></Dt></Bal>"
    for entry in entries_between(bank, first, last):
        yield from _ntry(bank, entry)
    yield "</Stmt></BkToCstmrStmt></Document>"


def _amount(cents: int) -> str:
    return f'<Amt Ccy="TZS">{_decimal(cents)}</Amt><CdtDbtInd>{_sign(cents)}</CdtDbtInd>'


def _ntry(bank: Bank, entry: BankEntry) -> Iterator[str]:
    reversal = "<RvslInd>true</RvslInd>" if entry.is_return else ""
    yield f"<Ntry><NtryRef>{entry.number}</NtryRef>{_amount(entry.cents)}{reversal}<Sts><Cd>BOOK</Cd></Sts>"
    yield f"<BookgDt><Dt>{entry.day}</Dt></BookgDt><ValDt><Dt>{entry.day}</Dt></ValDt>"
    yield f"<AcctSvcrRef>{escape(entry.reference)}</AcctSvcrRef><BkTxCd><Prtry><Cd>SIM</Cd></Prtry></BkTxCd>"
    yield "<NtryDtls>"
    if entry.parts:
        yield f"<Btch><MsgId>{entry.message_id}</MsgId><NbOfTxs>{len(entry.parts)}</NbOfTxs></Btch>"
        if bank.switches.lists_parts:
            for part in entry.parts:
                yield from _details(part, has_amount=True)
    else:
        yield from _details(entry)
    yield f"</NtryDtls><AddtlNtryInf>{escape(entry.text) or '-'}</AddtlNtryInf></Ntry>"


def _details(entry: BankEntry, *, has_amount: bool = False) -> Iterator[str]:
    yield "<TxDtls><Refs>"
    if entry.message_id:
        yield f"<MsgId>{entry.message_id}</MsgId>"
    yield f"<EndToEndId>{escape(entry.end_to_end or 'NOTPROVIDED')}</EndToEndId></Refs>"
    if has_amount:
        yield _amount(entry.cents)
    if entry.name:
        yield f"<RltdPties><Cdtr><Pty><Nm>{escape(entry.name)}</Nm></Pty></Cdtr></RltdPties>"
    if entry.text:
        yield f"<RmtInf><Ustrd>{escape(entry.text)}</Ustrd></RmtInf>"
    if entry.reason:
        code, _, words = entry.reason.partition(" ")
        yield f"<RtrInf><Rsn><Cd>{escape(code)}</Cd></Rsn><AddtlInf>{escape(words)}</AddtlInf></RtrInf>"
    yield "</TxDtls>"


def mt940(bank: Bank, first: date, last: date) -> bytes:
    return ("\r\n".join(_mt940(bank, first, last)) + "\r\n").encode("ascii", "replace")


def _mt940(bank: Bank, first: date, last: date) -> Iterator[str]:
    yield f":20:SIM{last:%y%m%d}"
    yield f":25:{bank.account}"
    yield f":28C:{last.timetuple().tm_yday}/1"
    yield f":60F:{_balance(opening_cents(bank, first), first)}"
    for entry in entries_between(bank, first, last):
        mark = ("RD" if entry.is_return else "C") if entry.cents > 0 else "D"
        ours = (entry.end_to_end or entry.message_id or "NONREF")[:16]
        moved = f"{entry.day:%y%m%d}{entry.day:%m%d}{mark}{_decimal(entry.cents, ',')}"
        yield f":61:{moved}NTRF{ours}//{entry.reference[:16]}"
        yield from _wrapped(_text(entry))
    yield f":62F:{_balance(bank.balance_cents(last), last)}"
    yield "-"


def _text(entry: BankEntry) -> str:
    found = ""
    if entry.end_to_end:
        found += f"/EREF/{entry.end_to_end}"
    if entry.reason:
        found += f"/RTRN/{entry.reason}"
    return f"{found}/REMI/{entry.text or 'NONE'}"


def _wrapped(text: str) -> Iterator[str]:
    lines = [text[at : at + 65] for at in range(0, min(len(text), 390), 65)]
    yield f":86:{lines[0]}"
    yield from lines[1:]


def _balance(cents: int, day: date) -> str:
    return f"{'D' if cents < 0 else 'C'}{day:%y%m%d}TZS{_decimal(cents, ',')}"


def table(bank: Bank, first: date, last: date) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(_rows(bank, first, last))
    return out.getvalue().encode()


def workbook(bank: Bank, first: date, last: date) -> bytes:
    out = io.BytesIO()
    with Workbook(out, {"in_memory": True}) as book:
        book.set_properties({"created": datetime(last.year, last.month, last.day)})
        sheet = book.add_worksheet("Statement")
        for number, row in enumerate(_rows(bank, first, last)):
            for column, text in enumerate(row):
                sheet.write_string(number, column, text)
    return out.getvalue()


def _rows(bank: Bank, first: date, last: date) -> Iterator[list[str]]:
    yield ["Account Number", bank.account]
    yield ["From", first.isoformat()]
    yield ["To", last.isoformat()]
    balance = opening_cents(bank, first)
    yield ["Opening Balance", _signed(balance)]
    yield ["Closing Balance", _signed(bank.balance_cents(last))]
    yield []
    yield ["Date", "Reference", "Narration", "Customer Reference", "Debit", "Credit", "Balance"]
    for entry in entries_between(bank, first, last):
        balance += entry.cents
        debit, credit = (_decimal(entry.cents), "") if entry.cents < 0 else ("", _decimal(entry.cents))
        words = f"{entry.text} {entry.reason}".strip()
        ours = entry.end_to_end or entry.message_id
        yield [entry.day.isoformat(), entry.reference, words, ours, debit, credit, _signed(balance)]


def _signed(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{_decimal(cents)}"


FORMATS: dict[str, tuple[str, Callable[[Bank, date, date], bytes]]] = {
    "camt053": ("application/xml", camt053),
    "mt940": ("text/plain", mt940),
    "csv": ("text/csv", table),
    "xlsx": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", workbook),
}
