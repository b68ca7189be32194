"""The channels: the mobile money that a payment goes through. Pure.

Their names and number prefixes: `networks/channel_names_and_prefixes.py`.
"""

from enum import StrEnum


class Channel(StrEnum):
    MPESA = "MPESA"
    TIGO_PESA = "TIGO_PESA"
    AIRTEL_MONEY = "AIRTEL_MONEY"
    HALOPESA = "HALOPESA"
