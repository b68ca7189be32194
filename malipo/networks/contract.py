"""What every network has in common, whatever its wire looks like."""

from enum import StrEnum


class Channel(StrEnum):
    MPESA = "MPESA"
    TIGO_PESA = "TIGO_PESA"
    AIRTEL_MONEY = "AIRTEL_MONEY"
    HALOPESA = "HALOPESA"
