"""Faults in payment links."""

from tests.faults.fault import Fault

_TABLE = ("links/test_press_decision.py",)
_PRESS = ("links/test_press.py",)
_COUNT = ("links/test_tally.py", "links/test_count.py")

FAULTS = (
    Fault(
        "presses of a link do not wait for each other",
        "lock_by_codes",
        "ORDER BY merchant_id, id FOR UPDATE",
        "ORDER BY merchant_id, id",
        "Two customers, or one in two browsers, pay a link that is paid once.",
        _PRESS,
    ),
    Fault(
        "a number that is being asked by a link is asked again",
        "decide",
        "if is_own_open:\n",
        "if is_own_open and not is_reusable:\n",
        "A customer who presses twice pays twice.",
        _TABLE,
    ),
    Fault(
        "another number is asked while one is asked by a link",
        "decide",
        "if others is Others.ASKED:",
        "if others is Others.ASKED and not may_be_second:",
        "A link that is paid once is paid by two numbers.",
        _TABLE,
    ),
    Fault(
        "a page of a link that is sent again is another press",
        "find_of_numbers",
        "a.press_id = asked.press_id OR ",
        "",
        "A browser that sends a form again after a lost answer pays a reusable link twice.",
        _PRESS,
    ),
    Fault(
        "an attempt has an idempotency key among the merchant's own",
        "payment_request_of",
        "scope=SCOPE,",
        "scope=None,",
        "A merchant's request meets a customer's attempt, and one of the two is not made.",
        _PRESS,
    ),
    Fault(
        "every attempt of a number at a link has the same network key",
        "payment_request_of",
        "{press.phone}:{ordinal}",
        "{press.phone}",
        "Who has declined once can never pay.",
        _PRESS,
    ),
    Fault(
        "an attempt of a link has a network key of the link's id",
        "payment_request_of",
        'key = f"{link.code}:',
        'key = f"{link.id}:',
        "After a restore a repeated press has another key, and the customer pays twice.",
        ("links/test_restore.py",),
    ),
    Fault(
        "a second payment of a link is not late",
        "why_late",
        "if is_full:",
        "if False:",
        "The merchant is not told that a link was paid twice.",
        ("links/test_link.py", *_COUNT),
    ),
    Fault(
        "a payment that ended by a clock which is ahead is late",
        "PAID_AT",
        "ELSE c.since END, clock_timestamp())",
        "ELSE c.since END)",
        "The link takes a second payment before it expires.",
        ("links/test_count.py",),
    ),
    Fault(
        "a correction does not wait for a worker that counts its payment",
        "count_again",
        "IN (SELECT * FROM unnest($1::text[], $2::text[]))",
        "IN (SELECT * FROM unnest($1::text[], $2::text[])) AND is_counted",
        "A link counts a payment for ever as it was before its correction.",
        ("links/test_count.py",),
    ),
    Fault(
        "a link does not count a corrected payment anew",
        "count_again",
        "SET is_counted = false",
        "SET is_counted = true",
        "A link shows money that its network took back, and can be paid again after a late success.",
        _COUNT,
    ),
    Fault(
        "a prompt that did not reach its network ends like one that did",
        "NOT_ASKED",
        "(t.status = 'PENDING' OR {IS_UNSENT})",
        "(t.status = 'PENDING')",
        "A second number pays a link that is paid once, while the first is still to be asked.",
        _PRESS,
    ),
    Fault(
        "a prompt begins with the first send, which did not arrive",
        "PROMPTED_AT",
        "greatest(a.pressed_at, t.processing_at, d.sent_at)",
        "greatest(a.pressed_at, t.processing_at)",
        "A second number pays a link that is paid once, while the first phone asks for the PIN.",
        _PRESS,
    ),
)
