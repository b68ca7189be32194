"""Summary vouchers as Tally imports them: XML. A debit is "deemed positive", and its amount is negative. Pure."""

from xml.sax.saxutils import escape

from malipo.books.formats.journal_format import JournalWords
from malipo.books.vouchers import Voucher

_BEGIN = """<?xml version="1.0" encoding="UTF-8"?>
<ENVELOPE>
<HEADER><TALLYREQUEST>Import Data</TALLYREQUEST></HEADER>
<BODY><IMPORTDATA><REQUESTDESC><REPORTNAME>Vouchers</REPORTNAME></REQUESTDESC><REQUESTDATA>
"""
_END = """</REQUESTDATA></IMPORTDATA></BODY>
</ENVELOPE>
"""


class TallyVouchers:
    def __init__(self, words: JournalWords) -> None:
        self._words = words

    def begin(self) -> str:
        return _BEGIN

    def voucher(self, voucher: Voucher) -> str:
        lines = [
            f"<ALLLEDGERENTRIES.LIST><LEDGERNAME>{escape(' - '.join(self._words.name_of(line.account)))}</LEDGERNAME>"
            f"<ISDEEMEDPOSITIVE>{'Yes' if line.amount > 0 else 'No'}</ISDEEMEDPOSITIVE>"
            f"<AMOUNT>{-line.amount}</AMOUNT></ALLLEDGERENTRIES.LIST>"
            for line in voucher.lines
        ]
        return "\n".join(
            [
                '<TALLYMESSAGE><VOUCHER VCHTYPE="Journal" ACTION="Create">',
                f"<DATE>{voucher.day:%Y%m%d}</DATE><VOUCHERTYPENAME>Journal</VOUCHERTYPENAME>"
                f"<VOUCHERNUMBER>{voucher.number}</VOUCHERNUMBER>",
                f"<NARRATION>{escape(self._words.of_voucher(is_opening=voucher.is_opening))}</NARRATION>",
                *lines,
                "</VOUCHER></TALLYMESSAGE>\n",
            ]
        )

    def end(self) -> str:
        return _END
