"""The channels: the mobile money that a payment goes through. Pure. Their names are in `networks/channels.py`."""

from enum import StrEnum


class Channel(StrEnum):
    MPESA = "MPESA"
    TIGO_PESA = "TIGO_PESA"
    AIRTEL_MONEY = "AIRTEL_MONEY"
    HALOPESA = "HALOPESA"
