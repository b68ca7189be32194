"""Payout files as pain.001.001.09: valid by the schema, read back by other people's libraries, the same bytes each time."""

from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import resources

import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiso20022.pain.pain_001_001_09 import Document  # type: ignore[import-untyped]
from xsdata.formats.dataclass.parsers import XmlParser

from malipo.bank_formats import pain001
from malipo.bank_formats.transfer_order import FileOrder, TransferOrder

SCHEMA = xmlschema.XMLSchema(str(resources.files("sepaxml").joinpath("schemas", "pain.001.001.09.xsd")))
AT = datetime(2026, 11, 19, 21, 30, tzinfo=UTC)  # already the 20th in Dar es Salaam


def transfer(**values: object) -> TransferOrder:
    usual = {
        "key": "0123456789ABCDEF",
        "amount": 49_500,
        "name": "Duka la Asha",
        "bic": "CORUTZTZ",
        "account": "0150000WKYA00",
        "text": "Settlement ST0123456789ABCDEF",
    }
    return TransferOrder(**{**usual, **values})  # type: ignore[arg-type]


def order(*transfers: TransferOrder, **values: object) -> FileOrder:
    usual = {
        "message_id": "1KDMGZ0AAAAAAAAA",
        "created_at": AT,
        "pays_on": date(2026, 11, 20),
        "payer_name": "Malipo Limited",
        "payer_bic": "NMIBTZTZ",
        "payer_account": "22010012345",
        "transfers": transfers or (transfer(),),
    }
    return FileOrder(**{**usual, **values})  # type: ignore[arg-type]


def test_a_file_is_valid_by_the_schema() -> None:
    SCHEMA.validate(pain001.write(order()).decode())


def test_a_file_with_every_option_is_valid_by_the_schema() -> None:
    whole = order(transfer(), transfer(key="G" * 16, amount=30_000_000), books_one_sum=True, urgent_above=20_000_000)
    text = pain001.write(whole).decode()
    SCHEMA.validate(text)
    assert text.count("<Cd>URGP</Cd>") == 1
    assert "<BtchBookg>true</BtchBookg>" in text
    assert "BtchBookg" not in pain001.write(order()).decode()


def test_a_public_library_reads_back_what_was_ordered() -> None:
    written = order(transfer(), transfer(key="HJKMNPQRSTVWXYZ0", amount=1_000, name="Mama N'tilie & Wanawe <Co>"))
    document = XmlParser().from_bytes(pain001.write(written), Document).cstmr_cdt_trf_initn
    assert document.grp_hdr.msg_id == "1KDMGZ0AAAAAAAAA"
    assert document.grp_hdr.nb_of_txs == "2"
    assert document.grp_hdr.ctrl_sum == Decimal(50_500)
    assert str(document.grp_hdr.cre_dt_tm) == "2026-11-20T00:30:00"
    [payment] = document.pmt_inf
    assert payment.pmt_inf_id == "1KDMGZ0AAAAAAAAA"
    assert str(payment.reqd_exctn_dt.dt) == "2026-11-20"
    assert payment.dbtr_acct.id.othr.id == "22010012345"
    assert payment.dbtr_agt.fin_instn_id.bicfi == "NMIBTZTZ"
    found = [
        (
            each.pmt_id.end_to_end_id,
            each.amt.instd_amt.value,
            each.amt.instd_amt.ccy,
            each.cdtr_agt.fin_instn_id.bicfi,
            each.cdtr_acct.id.othr.id,
            each.cdtr.nm,
        )
        for each in payment.cdt_trf_tx_inf
    ]
    assert found == [
        ("0123456789ABCDEF", Decimal(49_500), "TZS", "CORUTZTZ", "0150000WKYA00", "Duka la Asha"),
        ("HJKMNPQRSTVWXYZ0", Decimal(1_000), "TZS", "CORUTZTZ", "0150000WKYA00", "Mama N'tilie + Wanawe Co"),
    ]


def test_the_same_order_has_the_same_bytes_and_another_moment_others() -> None:
    assert pain001.write(order()) == pain001.write(order())
    assert pain001.write(order()) != pain001.write(order(created_at=datetime(2026, 11, 20, 8, 0, tzinfo=UTC)))


@settings(max_examples=40, deadline=None)
@given(name=st.text(), text=st.text(), amount=st.integers(1, 10**15), payer=st.text(min_size=1))
def test_whatever_people_are_called_the_file_is_valid(name: str, text: str, amount: int, payer: str) -> None:
    written = pain001.write(order(transfer(name=name, text=text, amount=amount), payer_name=payer))
    SCHEMA.validate(written.decode())
