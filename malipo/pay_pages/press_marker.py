"""The mark in the address to which a press leads. Pure.

A browser that keeps no cookies comes back from its press as a stranger. By the mark its page knows that a phone is
being asked, and shows no form: a second press could be a second payment. The mark names no payment, so a page that is
reached by it shows nothing of a customer.
"""

from datetime import datetime

from malipo.accounts.signed_cookies import Cookies

NAME = "pressed"
SECONDS = 3600


def mark_of(signed: Cookies, code: str, *, now: datetime) -> str:
    return signed.make_press_mark(code, str(int(now.timestamp())))


def is_fresh(signed: Cookies, code: str, mark: str, *, now: datetime) -> bool:
    """Whether somebody has pressed at this link within the hour. Clocks of two hosts may differ a little."""
    pressed_at = signed.press_mark_of(code, mark)
    return pressed_at is not None and abs(now.timestamp() - int(pressed_at)) <= SECONDS
