"""The banks of Tanzania that a form offers, by their BIC. Pure.

From a dataset of a Tanzanian payment provider that names SWIFT's directory as its source (April 2026). Public code
and web pages have wrong ones: never add one unchecked. Another bank's BIC can be typed.
"""

import re

BANKS = {
    "FMBZTZTX": "Access Bank",
    "AKCOTZTZ": "Akiba",
    "AMNNTZTZ": "Amana",
    "AZANTZTZ": "Azania",
    "BARCTZTZ": "Absa",
    "EUAFTZTZ": "Bank of Africa",
    "CITITZTZ": "Citi",
    "CORUTZTZ": "CRDB",
    "DASUTZTZ": "DCB",
    "DTKETZTZ": "Diamond Trust Bank",
    "ECOCTZTZ": "Ecobank",
    "EQBLTZTZ": "Equity",
    "EXTNTZTZ": "Exim",
    "GTBITZTZ": "GTBank",
    "IMBLTZTZ": "I&M",
    "KCBLTZTZ": "KCB",
    "MBTLTZTZ": "Maendeleo",
    "MKCBTZTZ": "Mkombozi",
    "MWCBTZTZ": "Mwanga Hakika",
    "MWCOTZTZ": "Mwalimu",
    "NLCBTZTX": "NBC",
    "CBAFTZTZ": "NCBA",
    "NMIBTZTZ": "NMB",
    "PBZATZTZ": "PBZ",
    "ACTZTZTZ": "Selcom",
    "SBICTZTX": "Stanbic",
    "SCBLTZTX": "Standard Chartered",
    "TAPBTZTZ": "TCB",
    "UNAFTZTZ": "UBA",
}

_BIC = re.compile(r"[A-Z]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?")
# No IBAN; accepted lengths differ, and letters occur: checked loosely, and kept as it was typed.
_NUMBER = re.compile(r"[A-Z0-9][A-Z0-9-]{3,32}[A-Z0-9]")


def bank_name(bic: str) -> str:
    return BANKS.get(bic[:8], bic)


def is_bic(text: str) -> bool:
    return _BIC.fullmatch(text) is not None


def number_of(typed: str) -> str | None:
    """The account number without spaces, in capitals; None if it can be none."""
    number = "".join(typed.split()).upper()
    return number if _NUMBER.fullmatch(number) and any(each.isdigit() for each in number) else None
