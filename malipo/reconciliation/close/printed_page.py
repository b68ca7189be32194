"""A closed day as a page to print: one sheet of A4, in HTML that needs nothing else. Pure.

It is English, as the books are. Its texts come from networks and operators, so all of them are escaped.
"""

from html import escape

from malipo import clock
from malipo.reconciliation.close.close_figures import AccountReading, CloseSheet, sheet_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.files_to_verify import command_of, line_of
from malipo.reconciliation.close.plain_text import COVERS, REASONS, WHAT, title_of, verdict_of
from malipo.reconciliation.close.printed_style import STYLE
from malipo.reconciliation.close.signed_content import CloseReading, ColumnRow, OpenItem

SIGNED_BY = ("Prepared by", "Checked by", "Approved by")
_MOST_ITEMS = 10  # of all channels: more would not fit on one sheet; the CSV has all


def html_of(closed: ClosedDay, public_key: bytes, *, company: str | None = None) -> str:
    """`company` is the name of the company. It is printed above the signed content, and is not part of it."""
    sheet = sheet_of(closed.close)
    head = f"<meta charset='utf-8'><title>Daily close {sheet.day}</title><style>{STYLE}</style>"
    body = (
        f"{_company(company)}<h1>Daily close: {sheet.day:%A}, {sheet.day}</h1>"
        f"<p class='verdict'>{escape(verdict_of(closed, sheet))}</p>"
        f"<p>Whole shillings (TZS). The day is that of Dar es Salaam.</p>"
        f"{_channels(sheet)}<div class='side'><section>{_open_items(sheet)}</section>"
        f"<section>{_balances(sheet)}{_safeguarding(sheet)}</section></div>"
        f"{_lines_to_sign()}{_signature(closed, public_key)}"
    )
    return f"<!doctype html>\n<html lang='en'><head>{head}</head>\n<body>{body}</body></html>\n"


def _company(company: str | None) -> str:
    return "" if company is None else f"<p class='company'>{escape(company)}</p>"


def _lines_to_sign() -> str:
    """Lines for signatures by hand: prepared by, checked by, approved by."""
    cells = "".join(f"<td><span></span>{each}: name, signature, date</td>" for each in SIGNED_BY)
    return f"<table class='to-sign'><tbody><tr>{cells}</tr></tbody></table>"


def _channels(sheet: CloseSheet) -> str:
    """The statement's column and the ledger's for each channel, side by side."""
    if not sheet.channels:
        return "<p>No channel has ever moved.</p>"
    heads = "".join(f"<th colspan='3'>{escape(each.channel)}</th>" for each in sheet.channels)
    subheads = "<th>Statement</th><th>Ledger</th><th>Difference</th>" * len(sheet.channels)
    rows = "".join(map(_channel_row, zip(*(each.rows for each in sheet.channels), strict=True)))
    return (
        f"<table class='columns'><thead><tr><th rowspan='2'></th>{heads}</tr><tr>{subheads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{_readings(sheet)}"
    )


def _readings(sheet: CloseSheet) -> str:
    """The last reading of each account in the day, beside its statement's balance at that moment."""
    rows = "".join(_reading_row(channel.channel, each) for channel in sheet.channels for each in channel.readings)
    if not rows:
        return ""
    heads = "<th>Last reading of</th><th>At</th>" + "".join(
        f"<th class='amount'>{each}</th>" for each in ("Reading", "Its statement at that time", "Difference")
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _reading_row(channel: str, each: AccountReading) -> str:
    read = each.reading
    return (
        f"<tr><td>{escape(' '.join(filter(None, (channel, each.account))))}</td><td>{_moment(read)}</td>"
        f"{_amount(read.amount)}{_amount(read.stated)}{_amount(read.difference, is_difference=True)}</tr>"
    )


def _moment(reading: CloseReading) -> str:
    return "" if reading.read_at is None else f"{reading.read_at.astimezone(clock.ZONE):%Y-%m-%d %H:%M}"


def _channel_row(rows: tuple[ColumnRow, ...]) -> str:
    """One row of each channel."""
    name = rows[0].name
    cells = "".join(
        _amount(row.statement) + _amount(row.ledger) + _amount(row.difference, is_difference=True) for row in rows
    )
    return f"<tr{' class=total' if name == 'closing' else ''}><th scope='row'>{name.capitalize()}</th>{cells}</tr>"


def _open_items(sheet: CloseSheet) -> str:
    """The open items, which explain the differences; the largest first."""
    if not sheet.open_count:
        return "<h2>Open at the end of the day</h2><p>Nothing.</p>"
    rows = "".join(
        f"<tr><td>{escape(channel.channel)}</td>{_amount(total.count)}<td>{escape(REASONS[total.reason])}</td>"
        f"{_amount(total.amount)}</tr>"
        for channel in sheet.channels
        for total in channel.open
    )
    item_rows = "".join(_item_row(channel, item) for channel, item in sheet.items[:_MOST_ITEMS])
    title = "The biggest of them" if sheet.open_count > _MOST_ITEMS else "Each of them"
    return (
        f"<h2>Open at the end of the day: statement less ledger</h2><table><tbody>{rows}</tbody></table>"
        f"<h2>{title}, open since</h2><table><tbody>{item_rows}</tbody></table>"
    )


def _item_row(channel: str, item: OpenItem) -> str:
    name = " ".join(filter(None, (WHAT[item.what], item.name, item.account)))
    why = f"{item.kind} {item.exception}" if item.exception else REASONS[item.reason]
    short = "".join(f"<td class='short'>{escape(each)}</td>" for each in (channel, str(item.since)))
    return f"<tr>{short}<td>{escape(name)}</td><td>{escape(why)}</td>{_amount(item.amount)}</tr>"


def _balances(sheet: CloseSheet) -> str:
    """The balances of all accounts of the ledger at the end of the day. They sum to zero."""
    rows = "".join(
        f"<tr><td>{escape(title_of(each.account))}</td>{_amount(each.change)}{_amount(each.balance)}</tr>"
        for each in sheet.balances
    )
    return (
        "<h2>Balances</h2><table><thead><tr><th>Account</th><th class='amount'>In the day</th>"
        f"<th class='amount'>At its end</th></tr></thead><tbody>{rows}"
        f"<tr class='total'><td>Trial balance</td><td></td>{_amount(sheet.trial_balance)}</tr>"
        f"<tr><td>Owed by merchants, of no account</td><td></td>{_amount(sheet.owed)}</tr></tbody></table>"
    )


def _safeguarding(sheet: CloseSheet) -> str:
    """The merchants' money, beside the money that is there for it."""
    found = sheet.safeguarding
    rows = [
        ("Merchants own", found.merchants),
        ("Is there for it, at networks and the bank", found.there),
        ("Difference", found.difference),
        ("of it the own money of the house", found.own),
        ("of it explained, between statement and ledger", found.explained),
        ("of it missing in suspense, or owed", -found.missing),
        ("of it unexplained", found.unexplained),
    ]
    cells = "".join(f"<tr><td>{name}</td>{_amount(amount)}</tr>" for name, amount in rows)
    return f"<h2>Safeguarding</h2><table><tbody>{cells}</tbody></table><p>{escape(COVERS[found.cover])}</p>"


def _signature(closed: ClosedDay, public_key: bytes) -> str:
    when = f"{closed.closed_at.astimezone(clock.ZONE):%Y-%m-%d %H:%M}"
    return (
        f"<p class='signed'>Closed by {escape(closed.closed_by)} at {when}. Hash {closed.hash.hex()}, after "
        f"{closed.previous.hex() if closed.previous else 'no other day'}. "
        f"Ed25519 signature {closed.signature.hex()} by key {escape(closed.key_id)}, "
        f"whose public key is {line_of(public_key)}. With the files that malipo close show --signed writes: "
        f"{escape(command_of(closed))}</p>"
    )


def _amount(amount: int | None, *, is_difference: bool = False) -> str:
    if amount is None or (is_difference and not amount):
        return f"<td class='amount'>{'' if amount is None else '0'}</td>"
    return f"<td class='amount{' differs' if is_difference else ''}'>{amount:,}</td>"
