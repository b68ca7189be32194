"""/dashboard/invoices: the list, a document, its PDF, and all lines as CSV."""

from malipo.invoices.invoice import FeeKind, Invoice, InvoiceLine, Party
from tests.conftest import make_merchant
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.invoices.sample import store_invoice

PATH = "/dashboard/invoices"
BUYER = Party(name="=Duka & Sons", address="PO Box 1\nMwanza", tin="987654321")


async def an_invoice(business: Business, merchant_id: str) -> Invoice:
    async with business.database.begin() as tx:
        line = InvoiceLine(fee=FeeKind.COLLECTION, count=3, gross=3, rate=1800)  # too little for a shilling of VAT
        seller = Party(name="Malipo Ltd", vrn="40-320840-G")
        return await store_invoice(tx, merchant_id, buyer=BUYER, seller=seller, lines=(line,))


async def test_the_list_the_document_the_pdf_and_the_csv(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    assert "No invoices yet" in (await business.surfer.get(PATH)).words
    invoice = await an_invoice(business, business.merchant_id)
    assert invoice.number in (await business.surfer.get(PATH)).words

    seen = await business.surfer.get(f"{PATH}/{invoice.number}")
    assert seen.status == 200
    for each in ("Tax invoice", "Malipo Ltd", "VRN 40-320840-G", "=Duka & Sons", "TIN 987-654-321", "18 %", "2026-09"):
        assert each in seen.words, each

    pdf = await business.surfer.get(f"{PATH}/{invoice.number}/pdf")
    assert (pdf.status, pdf.headers["Content-Type"]) == (200, "application/pdf")

    csv = (await business.surfer.get(f"{PATH}.csv")).text.splitlines()
    assert csv[0].endswith("fee,isGivenBack,count,vatBasisPoints,amount,net,vat,buyerVrn,sellerVrn")
    assert csv[1].endswith("collection,no,3,1800,3,3,0,,40-320840-G")
    assert ",'=Duka & Sons," in csv[1]  # no spreadsheet takes it for a formula


async def test_another_merchants_invoice_is_not_there(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    other = await make_merchant(business.database)
    invoice = await an_invoice(business, other.id)
    for path in (f"{PATH}/{invoice.number}", f"{PATH}/{invoice.number}/pdf"):
        assert (await business.surfer.get(path)).status == 404
    assert invoice.number not in (await business.surfer.get(PATH)).words
