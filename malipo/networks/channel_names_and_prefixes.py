"""The channels: name and number prefixes of each. Pure.

Prefixes show the network that first assigned a number. Numbers are portable, so a prefix is a hint for a form, and
never a rule.
"""

from dataclasses import dataclass

from malipo import phone as phones
from malipo.networks.connector import Channel

_PREFIX = len("+25575")


@dataclass(frozen=True, slots=True)
class ChannelProfile:
    name: str
    prefixes: tuple[str, ...]


PROFILES: dict[Channel, ChannelProfile] = {
    Channel.MPESA: ChannelProfile("M-Pesa", ("+25574", "+25575", "+25576", "+25579")),
    Channel.TIGO_PESA: ChannelProfile("Tigo Pesa (Mixx by Yas)", ("+25565", "+25567", "+25570", "+25571", "+25577")),
    Channel.AIRTEL_MONEY: ChannelProfile("Airtel Money", ("+25566", "+25568", "+25569", "+25578")),
    Channel.HALOPESA: ChannelProfile("HaloPesa", ("+25561", "+25562", "+25563")),
}


def channel_of(phone: str) -> Channel | None:
    """The channel of the network that first assigned a number, if its prefix is known."""
    return next((channel for channel, profile in PROFILES.items() if phone.startswith(profile.prefixes)), None)


def choice_for(chosen: str, phone: str, *, chosen_before: str, phone_before: str) -> str:
    """The network that somebody has chosen for a number. "" stands for the network that the number's prefix says.

    When somebody changes the number, the choice made for the old number is dropped if the new number has the prefix of
    another network. A choice that is made for the new number is kept.
    """
    is_left = chosen == chosen_before
    return "" if is_left and _is_of_another(phone, phone_before) else chosen


def _is_of_another(phone: str, before: str) -> bool:
    if not (phones.is_valid(phone) and phones.is_valid(before)):
        return False
    return (channel_of(phone) or phone[:_PREFIX]) != (channel_of(before) or before[:_PREFIX])
