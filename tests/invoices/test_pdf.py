"""The text of a PDF of an invoice, word by word: nobody proofreads each, and merchants file it with their taxes."""

from datetime import UTC, date, datetime

from msgspec.structs import replace

from malipo.dashboard.invoice_words import document_words
from malipo.dashboard.language import Translator
from malipo.http.accept_language import Language
from malipo.invoices.invoice import FeeKind, Invoice, InvoiceKind, InvoiceLine, Party
from malipo.invoices.pdf import pdf_of
from tests.invoices.pdf_text import texts_of

SELLER = Party(name="Malipo (T) Ltd", address="PO Box 1\nDar es Salaam", tin="123456789", vrn="40-320840-G")
INVOICE = Invoice(
    number="A-2026-000007",
    series="A",
    year=2026,
    ordinal=7,
    kind=InvoiceKind.INVOICE,
    merchant_id="mer_1",
    month=date(2026, 10, 1),
    corrects=None,
    lines=(
        InvoiceLine(fee=FeeKind.COLLECTION, count=1234, gross=118_000, rate=1800),
        InvoiceLine(fee=FeeKind.COLLECTION, count=2, gross=11_600, rate=1600),
        InvoiceLine(fee=FeeKind.DISBURSEMENT, is_given_back=True, count=1, gross=-1_180, rate=1800),
    ),
    seller=SELLER,
    buyer=Party(name="Duka <b>la</b> Asha & Sons", tin="987654321"),
    booking_id=None,
    issued_by="operator asha",
    issued_at=datetime(2026, 11, 2, 21, 30, tzinfo=UTC),  # the 3rd in Dar es Salaam
    fiscal_number="EFD-12345",
)


def _texts(invoice: Invoice, language: Language = Language.ENGLISH) -> list[str]:
    return texts_of(pdf_of(invoice, document_words(invoice, Translator(language))))


def test_an_invoice_of_two_rates_says_all_of_it() -> None:
    assert _texts(INVOICE) == [
        *("Tax invoice", "Number", "A-2026-000007", "Date", "2026-11-03", "Fees of", "2026-10"),
        *("Fiscal number", "EFD-12345"),
        *("Seller", "Malipo (T) Ltd", "PO Box 1", "Dar es Salaam", "TIN 123-456-789", "VRN 40-320840-G"),
        *("Buyer", "Duka <b>la</b> Asha & Sons", "TIN 987-654-321"),
        *("What", "Count", "VAT", "Amount with VAT"),
        *("Fees for collections", "1,234", "18 %", "118,000"),
        *("Fees for collections", "2", "16 %", "11,600"),
        *("Fees for payouts, given back", "1", "18 %", "-1,180"),
        *("Without VAT", "109,000", "VAT 16 %", "1,600", "VAT 18 %", "17,820"),
        *("Total (TZS)", "128,420", "Paid: the fees were kept from the payments."),
    ]


def test_a_credit_note_names_its_invoice_and_was_not_paid() -> None:
    said = _texts(credit_note())
    assert said[:3] == ["Credit note", "Number", "A-2026-000008"]
    assert said[said.index("Corrects invoice") + 1] == "A-2026-000007"
    assert said[-1] == "Nothing is to be paid: these fees were given back."
    assert said[said.index("Total (TZS)") + 1] == "1,180"


def credit_note() -> Invoice:
    line = InvoiceLine(fee=FeeKind.COLLECTION, is_given_back=True, count=1, gross=1_180, rate=1800)
    return replace(
        INVOICE, kind=InvoiceKind.CREDIT_NOTE, number="A-2026-000008", corrects=INVOICE.number, lines=(line,)
    )


def test_in_kiswahili_every_word_is() -> None:
    english, swahili = _texts(INVOICE), _texts(INVOICE, Language.KISWAHILI)
    assert len(english) == len(swahili)
    same = {each for each, other in zip(english, swahili, strict=True) if each == other and each.isascii()}
    words = {each for each in same if any(letter.isalpha() for letter in each)}
    own = {INVOICE.number, SELLER.name, "PO Box 1", "Dar es Salaam", INVOICE.buyer.name, "EFD-12345"}
    assert words <= own | {"TIN 123-456-789", "VRN 40-320840-G", "TIN 987-654-321", "VAT", "VAT 16 %", "VAT 18 %"}
    assert swahili[-1] != english[-1]
    assert _texts(credit_note(), Language.KISWAHILI)[-1] == "Hakuna cha kulipa: ada hizi zilirudishwa."


def test_without_a_vrn_there_is_no_vat_on_it() -> None:
    lines = (InvoiceLine(fee=FeeKind.SETTLEMENT, count=3, gross=1_500, rate=0),)
    said = _texts(replace(INVOICE, seller=Party(name="Not registered"), lines=lines))
    assert said[0] == "Invoice"
    assert said[said.index("What") :] == [
        *("What", "Count", "Amount", "Fees for settlements", "3", "1,500", "Total (TZS)", "1,500"),
        "Paid: the fees were kept from the payments.",
    ]
