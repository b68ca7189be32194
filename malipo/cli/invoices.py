"""malipo invoices …: invoices of fees and credit notes, what they say of merchants, and rates of VAT."""

import argparse
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

from malipo import money
from malipo.audit_log.actor import Actor
from malipo.cli.command_table import add_command
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.dashboard.invoice_words import COLUMNS, document_words, rows_of
from malipo.dashboard.language import Translator
from malipo.db import Database, Tx
from malipo.errors import Invalid
from malipo.http.accept_language import Language
from malipo.invoices import change_invoice_data, issue_invoices
from malipo.invoices.invoice import Invoice, InvoiceKind, InvoiceRefusal, NoSuchInvoice, Party, parse_month
from malipo.invoices.seller import seller_of
from malipo.invoices.store import invoices as store
from malipo.invoices.tax import percent
from malipo.merchants import onboard
from malipo.reconciliation.close.business_day import parse_day
from malipo.settings import Settings
from malipo.table_files.csv_export import csv_lines


def add_commands(commands: Any) -> None:
    acts = add_command(commands, "invoices").add_subparsers(title="acts", metavar="ACT", required=True)
    issue = add_subcommand(acts, "issue", _issue, "issue what is missing for a closed month: invoices and credit notes")
    issue.add_argument("month", help="such as 2026-10")
    issue.add_argument("--merchant", help="only for this merchant: its id or name")
    list_ = add_subcommand(acts, "list", _list, "list invoices and credit notes, the newest first")
    list_.add_argument("--month", help="only with the fees of this month, such as 2026-10")
    list_.add_argument("--merchant", help="only of this merchant: its id or name")
    list_.add_argument("--csv", action="store_true", help="every line of every document, as CSV")
    pdf = add_subcommand(acts, "pdf", _pdf, "write a document as a PDF")
    pdf.add_argument("number", help="such as A-2026-000001")
    pdf.add_argument("--output", type=Path, metavar="FILE", help="the file; without it: NUMBER.pdf")
    pdf.add_argument("--language", choices=list(Language), default=Language.ENGLISH)
    fiscal = add_subcommand(acts, "fiscal-number", _fiscal_number, "add the number of the fiscal device, once")
    fiscal.add_argument("number", help="such as A-2026-000001")
    fiscal.add_argument("fiscal_number", help="as the device printed it")
    buyer = add_subcommand(acts, "buyer", _buyer, "show or change what later invoices say of a merchant")
    buyer.add_argument("merchant", help="the merchant's id or name")
    buyer.add_argument("--name", help="the legal name")
    buyer.add_argument("--address", help="the postal address; '' removes it")
    buyer.add_argument("--tin", help="nine digits; '' removes it")
    buyer.add_argument("--vrn", help="the number of the VAT registration; '' removes it")
    rate = add_subcommand(acts, "tax-rate", _tax_rate, "set the rate of VAT from a day on")
    rate.add_argument("rate", help="in per cent, such as 18")
    rate.add_argument("--from", type=parse_day, required=True, dest="first", metavar="DAY", help="the first day")


def _issue(arguments: argparse.Namespace, settings: Settings) -> int:
    month, seller = parse_month(arguments.month), seller_of(settings)

    async def act(tx: Tx, actor: Actor, now: datetime) -> list[Invoice]:
        merchant_id = None if arguments.merchant is None else await onboard.find_merchant(tx, arguments.merchant)
        return await issue_invoices.issue(tx, month, seller=seller, merchant_id=merchant_id, actor=actor, now=now)

    issued = write(arguments, settings, act)
    notes = [each for each in issued if each.kind is InvoiceKind.CREDIT_NOTE]
    sentence = (
        f"Issued for {arguments.month}: {len(issued) - len(notes):,} invoices and {len(notes):,} credit notes, "
        f"{money.display(issue_invoices.total_of(issued))} together."
    )
    as_json = {
        "month": arguments.month,
        "issued": [_shown(each) for each in issued],
        "total": issue_invoices.total_of(issued),
    }
    return print_result(arguments, as_json, sentence if issued else f"Nothing was missing for {arguments.month}.")


def _shown(invoice: Invoice) -> dict[str, Any]:
    return {
        "number": invoice.number,
        "kind": invoice.kind,
        "merchant": invoice.merchant_id,
        "name": invoice.buyer.name,
        "month": f"{invoice.month:%Y-%m}",
        "net": invoice.net,
        "vat": invoice.vat,
        "gross": invoice.gross,
        "corrects": invoice.corrects,
        "fiscal number": invoice.fiscal_number,
        "issued at": invoice.issued_at,
    }


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    month: date | None = None if arguments.month is None else parse_month(arguments.month)

    async def act(database: Database) -> list[Invoice]:
        async with database.snapshot() as connection:
            merchant_id = None
            if arguments.merchant is not None:
                merchant_id = await onboard.find_merchant(connection, arguments.merchant)
            return [each async for each in store.read_latest(connection, merchant_id=merchant_id, month=month)]

    found = with_database(settings, act)
    if arguments.csv:
        sys.stdout.write(csv_lines([COLUMNS, *(row for each in found for row in rows_of(each))]))
        return 0
    shown = [_shown(each) for each in found]
    return print_table(arguments, shown, empty="There is no such invoice.", right=("net", "vat", "gross"))


def _pdf(arguments: argparse.Namespace, settings: Settings) -> int:
    from malipo.invoices.pdf import pdf_of  # It takes a tenth of a second, and no other command needs it.

    async def act(database: Database) -> Invoice:
        async with database.read() as connection:
            invoice = await store.find(connection, arguments.number)
        if invoice is None:
            raise NoSuchInvoice(arguments.number)
        return invoice

    invoice = with_database(settings, act)
    path = arguments.output or Path(f"{invoice.number}.pdf")
    path.write_bytes(pdf_of(invoice, document_words(invoice, Translator(arguments.language))))
    return print_result(arguments, {"number": invoice.number, "file": str(path)}, f"Wrote {path}.")


def _fiscal_number(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        await issue_invoices.add_fiscal_number(tx, arguments.number, arguments.fiscal_number, actor=actor, now=now)

    write(arguments, settings, act)
    as_json = {"number": arguments.number, "fiscalNumber": arguments.fiscal_number.strip()}
    return print_result(
        arguments, as_json, f"{arguments.number} has the fiscal number {arguments.fiscal_number.strip()}."
    )


def _buyer(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Party:
        return await change_invoice_data.change_buyer(
            tx,
            await onboard.find_merchant(tx, arguments.merchant),
            name=arguments.name,
            address=arguments.address,
            tin=arguments.tin,
            vrn=arguments.vrn,
            actor=actor,
            now=now,
        )

    buyer = write(arguments, settings, act)
    shown = {"name": buyer.name, "address": buyer.address, "tin": buyer.tin, "vrn": buyer.vrn}
    lines = [f"{name + ':':<9} {value or '-'}" for name, value in shown.items()]
    return print_result(arguments, shown, "\n".join(["Later invoices say:", *lines]))


def _tax_rate(arguments: argparse.Namespace, settings: Settings) -> int:
    basis_points = _basis_points(arguments.rate)

    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        await change_invoice_data.set_rate(tx, basis_points, arguments.first, actor=actor, now=now)

    write(arguments, settings, act)
    as_json = {"basisPoints": basis_points, "from": arguments.first}
    return print_result(arguments, as_json, f"VAT is {percent(basis_points)} from {arguments.first} on.")


def _basis_points(text: str) -> int:
    """Of a rate in per cent with at most two decimals."""
    whole, _, part = text.strip().removesuffix("%").strip().partition(".")
    if not (whole + part).isascii() or not (whole + part).isdigit() or len(part) > 2 or not whole or len(whole) > 3:
        raise Invalid(code=InvoiceRefusal.RATE_INVALID, text=text)
    basis_points = int(whole) * 100 + int(part.ljust(2, "0"))
    if basis_points > 10_000:
        raise Invalid(code=InvoiceRefusal.RATE_INVALID, text=text)
    return basis_points
