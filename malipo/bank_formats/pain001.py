"""Writes a payout file as ISO 20022 pain.001.001.09. Pure: the same order has the same bytes."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from malipo import clock, money
from malipo.bank_formats.bank_text import bank_text
from malipo.bank_formats.transfer_order import FileOrder, TransferOrder

NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
_MOST_NAME = 70  # The schema takes 140, and many banks 70.
_MOST_TEXT = 140


def write(order: FileOrder) -> bytes:
    """The file, as UTF-8."""
    assert order.transfers, "a file orders something"
    return ("\n".join(_lines(order)) + "\n").encode()


def _lines(order: FileOrder) -> Iterator[str]:
    count, total = len(order.transfers), str(order.total)
    created = order.created_at.astimezone(clock.ZONE).strftime("%Y-%m-%dT%H:%M:%S")
    payer = _text("Nm", order.payer_name, _MOST_NAME)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<Document xmlns="{NAMESPACE}">'
    yield "<CstmrCdtTrfInitn>"
    yield "<GrpHdr>"
    yield f"<MsgId>{order.message_id}</MsgId><CreDtTm>{created}</CreDtTm>"
    yield f"<NbOfTxs>{count}</NbOfTxs><CtrlSum>{total}</CtrlSum>"
    yield f"<InitgPty>{payer}</InitgPty>"
    yield "</GrpHdr>"
    yield "<PmtInf>"
    # The same as the message's: a statement may name either of the two.
    yield f"<PmtInfId>{order.message_id}</PmtInfId><PmtMtd>TRF</PmtMtd>"
    if order.books_one_sum is not None:
        yield f"<BtchBookg>{'true' if order.books_one_sum else 'false'}</BtchBookg>"
    yield f"<NbOfTxs>{count}</NbOfTxs><CtrlSum>{total}</CtrlSum>"
    yield f"<ReqdExctnDt><Dt>{order.pays_on.isoformat()}</Dt></ReqdExctnDt>"
    yield f"<Dbtr>{payer}</Dbtr>"
    account = _account(order.payer_account)
    yield f"<DbtrAcct>{account}<Ccy>{money.CURRENCY}</Ccy></DbtrAcct>"
    yield f"<DbtrAgt>{_agent(order.payer_bic)}</DbtrAgt>"
    for each in order.transfers:
        yield from _transfer(each, urgent_above=order.urgent_above)
    yield "</PmtInf>"
    yield "</CstmrCdtTrfInitn>"
    yield "</Document>"


def _transfer(transfer: TransferOrder, *, urgent_above: int | None) -> Iterator[str]:
    yield "<CdtTrfTxInf>"
    yield f"<PmtId><InstrId>{transfer.key}</InstrId><EndToEndId>{transfer.key}</EndToEndId></PmtId>"
    if urgent_above is not None and transfer.amount > urgent_above:
        yield "<PmtTpInf><SvcLvl><Cd>URGP</Cd></SvcLvl></PmtTpInf>"
    yield f'<Amt><InstdAmt Ccy="{money.CURRENCY}">{transfer.amount}</InstdAmt></Amt>'
    yield f"<CdtrAgt>{_agent(transfer.bic)}</CdtrAgt>"
    yield f"<Cdtr>{_text('Nm', transfer.name, _MOST_NAME)}</Cdtr>"
    yield f"<CdtrAcct>{_account(transfer.account)}</CdtrAcct>"
    yield f"<RmtInf>{_text('Ustrd', transfer.text, _MOST_TEXT)}</RmtInf>"
    yield "</CdtTrfTxInf>"


def _agent(bic: str) -> str:
    return f"<FinInstnId><BICFI>{escape(bic)}</BICFI></FinInstnId>"


def _account(number: str) -> str:
    """Tanzania has no IBAN."""
    return f"<Id><Othr><Id>{escape(number)}</Id></Othr></Id>"


def _text(name: str, text: str, most: int) -> str:
    return f"<{name}>{escape(bank_text(text, most))}</{name}>"
