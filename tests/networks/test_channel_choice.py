"""Which network somebody has chosen after they changed the number, in each case that there is."""

import pytest

from malipo.networks.channel_names_and_prefixes import choice_for

MPESA, AIRTEL, HALO = "+255754000100", "+255684000100", "+255624000100"
OTHER_MPESA, NOBODYS, ANOTHER_NOBODYS = "+255744000199", "+255735000100", "+255645000100"
BY_NUMBER = ""


@pytest.mark.parametrize(
    ("before", "after", "chosen"),
    [
        # (chosen, number) as the form was shown, as it was sent, and what counts
        (("", ""), ("AIRTEL_MONEY", MPESA), "AIRTEL_MONEY"),  # a first form: they know that it was ported
        (("", ""), ("", MPESA), BY_NUMBER),
        (("AIRTEL_MONEY", MPESA), ("AIRTEL_MONEY", MPESA), "AIRTEL_MONEY"),  # the number was left
        (("AIRTEL_MONEY", MPESA), ("AIRTEL_MONEY", OTHER_MPESA), "AIRTEL_MONEY"),  # a number of the same network
        (("AIRTEL_MONEY", AIRTEL), ("AIRTEL_MONEY", MPESA), BY_NUMBER),  # the fault that paid by the wrong network
        (("AIRTEL_MONEY", MPESA), ("AIRTEL_MONEY", AIRTEL), BY_NUMBER),
        (("AIRTEL_MONEY", MPESA), ("AIRTEL_MONEY", HALO), BY_NUMBER),
        (("AIRTEL_MONEY", AIRTEL), ("MPESA", MPESA), "MPESA"),  # chosen anew, with the number
        (("AIRTEL_MONEY", AIRTEL), ("HALOPESA", MPESA), "HALOPESA"),
        (("", AIRTEL), ("AIRTEL_MONEY", MPESA), "AIRTEL_MONEY"),
        (("", AIRTEL), ("", MPESA), BY_NUMBER),
        (("AIRTEL_MONEY", AIRTEL), ("", MPESA), BY_NUMBER),
        (("AIRTEL_MONEY", AIRTEL), ("AIRTEL_MONEY", NOBODYS), BY_NUMBER),  # then a network must be chosen
        (("AIRTEL_MONEY", NOBODYS), ("AIRTEL_MONEY", AIRTEL), BY_NUMBER),
        (("AIRTEL_MONEY", NOBODYS), ("AIRTEL_MONEY", ANOTHER_NOBODYS), BY_NUMBER),
        (("AIRTEL_MONEY", NOBODYS), ("AIRTEL_MONEY", NOBODYS[:-1] + "9"), "AIRTEL_MONEY"),
        (("AIRTEL_MONEY", AIRTEL), ("AIRTEL_MONEY", "0754"), "AIRTEL_MONEY"),  # no number yet: it is refused anyway
        (("AIRTEL_MONEY", "0754"), ("AIRTEL_MONEY", MPESA), "AIRTEL_MONEY"),
    ],
)
def test_a_network_is_not_kept_for_a_number_of_another(
    before: tuple[str, str], after: tuple[str, str], chosen: str
) -> None:
    assert choice_for(after[0], after[1], chosen_before=before[0], phone_before=before[1]) == chosen
