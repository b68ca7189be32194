"""The VAT of each line of a document. Pure.

The VAT of a document is computed from the sum of all lines of a rate. So each line has what the sum up to it has more
than the sum before it: the lines add up to the document, to the shilling.
"""

from collections.abc import Sequence

from malipo.invoices.invoice import InvoiceLine
from malipo.invoices.tax import vat_in


def vat_of_lines(lines: Sequence[InvoiceLine]) -> dict[InvoiceLine, int]:
    sums: dict[int, int] = {}
    found = {}
    for line in lines:
        before = sums.get(line.rate, 0)
        sums[line.rate] = before + line.gross
        found[line] = vat_in(sums[line.rate], line.rate) - vat_in(before, line.rate)
    return found
