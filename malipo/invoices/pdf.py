"""An invoice as a PDF, on one page of A4. The same document gives the same bytes each time."""

from io import BytesIO

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from malipo import clock
from malipo.invoices.document_words import InvoiceWords, note_of
from malipo.invoices.invoice import Invoice, Party
from malipo.invoices.tax import percent
from malipo.merchants.public_profile import tin_as_written
from malipo.money import CURRENCY

_BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=9.5, leading=13)
_SOFT = ParagraphStyle("soft", parent=_BODY, textColor=colors.HexColor("#555555"))
_BOLD = ParagraphStyle("bold", parent=_BODY, fontName="Helvetica-Bold")
_SOFT_RIGHT = ParagraphStyle("soft_right", parent=_SOFT, alignment=2)
_RIGHT = ParagraphStyle("right", parent=_BODY, alignment=2)
_RIGHT_BOLD = ParagraphStyle("right_bold", parent=_BOLD, alignment=2)
_TITLE = ParagraphStyle("title", parent=_BODY, fontName="Helvetica-Bold", fontSize=18, leading=24)
_LINE = colors.HexColor("#bbbbbb")
_WIDTH = A4[0] - 40 * mm - 12  # The frame of a page has a padding of 6 on each side.


def pdf_of(invoice: Invoice, words: InvoiceWords) -> bytes:
    file = BytesIO()
    document = SimpleDocTemplate(
        file,
        pagesize=A4,
        leftMargin=20 * mm,
        rightMargin=20 * mm,
        topMargin=18 * mm,
        bottomMargin=18 * mm,
        title=f"{words.title} {invoice.number}",
        author=_safe(invoice.seller.name),
        invariant=1,
    )
    document.build([*_head(invoice, words), *_lines(invoice, words), *_totals(invoice, words)])
    return file.getvalue()


def _safe(text: str) -> str:
    """The standard fonts have the letters of Western Europe. Others become a question mark."""
    return text.encode("cp1252", "replace").decode("cp1252")


def _text(text: str, style: ParagraphStyle = _BODY) -> Paragraph:
    """Whatever people have typed, as text: never as markup."""
    plain = _safe(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Paragraph(plain.replace("\n", "<br/>"), style)


def _head(invoice: Invoice, words: InvoiceWords) -> list[Flowable]:
    label = words.labels
    facts = [
        (label["Number"], invoice.number),
        (label["Date"], f"{clock.day_of(invoice.issued_at)}"),
        (label["Fees of"], f"{invoice.month:%Y-%m}"),
    ]
    if invoice.corrects:
        facts.append((label["Corrects invoice"], invoice.corrects))
    if invoice.fiscal_number:
        facts.append((label["Fiscal number"], invoice.fiscal_number))
    fact_table = Table(
        [[_text(name, _SOFT), _text(value)] for name, value in facts], colWidths=[48 * mm, _WIDTH - 48 * mm]
    )
    fact_table.setStyle(TableStyle([("LEFTPADDING", (0, 0), (-1, -1), 0), ("TOPPADDING", (0, 0), (-1, -1), 1)]))
    parties = Table(
        [[_party(label["Seller"], invoice.seller), _party(label["Buyer"], invoice.buyer)]],
        colWidths=[_WIDTH / 2, _WIDTH / 2],
    )
    parties.setStyle(TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (-1, -1), 0)]))
    return [_text(words.title, _TITLE), Spacer(1, 4 * mm), fact_table, Spacer(1, 6 * mm), parties, Spacer(1, 8 * mm)]


def _party(title: str, party: Party) -> list[Flowable]:
    numbers = [f"TIN {tin_as_written(party.tin)}" if party.tin else "", f"VRN {party.vrn}" if party.vrn else ""]
    return [
        _text(title, _SOFT),
        _text(party.name, _BOLD),
        *(_text(each) for each in (party.address, *numbers) if each),
    ]


def _lines(invoice: Invoice, words: InvoiceWords) -> list[Flowable]:
    label, has_vat = words.labels, bool(invoice.seller.vrn)
    head = ["What", "Count", "VAT", "Amount with VAT"] if has_vat else ["What", "Count", "", "Amount"]
    rows = [[_text(label[each] if each else "", _SOFT if each == "What" else _SOFT_RIGHT) for each in head]]
    for line in invoice.lines:
        rate = percent(line.rate) if has_vat else ""
        rows.append([_text(words.lines[line]), _figure(line.count), _text(rate, _RIGHT), _figure(line.gross)])
    table = Table(rows, colWidths=[_WIDTH - 82 * mm, 22 * mm, 18 * mm, 42 * mm], repeatRows=1)
    table.setStyle(TableStyle([("LINEBELOW", (0, 0), (-1, -1), 0.4, _LINE), ("LEFTPADDING", (0, 0), (0, -1), 0)]))
    return [table]


def _figure(amount: int, style: ParagraphStyle = _RIGHT) -> Paragraph:
    return _text(f"{amount:,}", style)


def _totals(invoice: Invoice, words: InvoiceWords) -> list[Flowable]:
    label, rows = words.labels, []
    if invoice.seller.vrn:
        rows.append([_text(label["Without VAT"]), _figure(invoice.net)])
        rows += [[_text(f"{label['VAT']} {percent(rate)}"), _figure(vat)] for rate, vat in invoice.vat_by_rate.items()]
    rows.append([_text(f"{label['Total']} ({CURRENCY})", _BOLD), _figure(invoice.gross, _RIGHT_BOLD)])
    table = Table(rows, colWidths=[_WIDTH - 42 * mm, 42 * mm])
    table.setStyle(
        TableStyle([("LINEABOVE", (0, -1), (-1, -1), 0.8, colors.black), ("LEFTPADDING", (0, 0), (0, -1), 0)])
    )
    return [Spacer(1, 2 * mm), table, Spacer(1, 8 * mm), _text(label[note_of(invoice)], _SOFT)]
