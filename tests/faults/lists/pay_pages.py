"""Faults in payment links and in the pages on which customers pay them."""

from tests.faults.fault import Fault

_LIMITS = ("links/test_prompt_limits.py", "links/test_refuse_prompts.py")
_PAGES = ("pay_pages/test_scene.py", "pay_pages/test_pay_page.py")

FAULTS = (
    Fault(
        "a number is not locked while its prompts are counted",
        "lock_numbers",
        "pg_advisory_xact_lock(hashtextextended('prompt ' || number, 0))",
        "hashtextextended('prompt ' || number, 0)",
        "Presses at many links at once ask a stranger's phone as often as there are links.",
        _LIMITS,
    ),
    Fault(
        "a prompt that is declined counts for nothing",
        "_BY_FAILURE",
        "FailureCode.DECLINED: _UNPAID,",
        "FailureCode.DECLINED: _PRESSED,",
        "Whoever declines what they never wanted is asked again all day.",
        _LIMITS,
    ),
    Fault(
        "a press that is stopped counts for nothing",
        "counts_as",
        "return _PRESSED",
        "return _NOTHING",
        "One browser makes payments without end through a public link, each told to its merchant.",
        _LIMITS,
    ),
    Fault(
        "prompts of one commit do not count for each other",
        "_refusal",
        "tally.update({(who, subject, counted): 1 for counted in counts_as(Status.PENDING, None)})",
        "pass",
        "Presses that share a commit ask a stranger's phone without a limit.",
        _LIMITS,
    ),
    Fault(
        "a blocked number is asked",
        "_refusal",
        "if met is not None or is_blocked:",
        "if met is not None:",
        "Somebody who has asked to be left in peace is asked on.",
        _LIMITS,
    ),
    Fault(
        "a page tells that nothing was charged when money came after the end",
        "scene_of",
        "if attempt.is_reported_paid:",
        "if attempt.is_reported_paid and scene is Scene.PAID:",
        "The customer reads that nothing was charged, and pays a second time.",
        _PAGES,
    ),
    Fault(
        "another number is offered without a warning",
        "shown",
        "is_warned=scene is Scene.IN_DOUBT)",
        "is_warned=False)",
        "A customer whose first number has paid after all pays twice.",
        _PAGES,
    ),
    Fault(
        "a cookie of one link is good for every link",
        "Cookies.attempt_of",
        'self._is_ours(f"attempt {code}", text, mac)',
        "text",
        "Whoever makes up a cookie sees the payments of others.",
        ("accounts/test_signed_cookies.py", *_PAGES),
    ),
    Fault(
        "what another browser has typed is shown to whoever types the number",
        "press",
        "if is_guest and result.link.amount is None:",
        "if False:",
        "A stranger learns how much somebody pays.",
        _PAGES,
    ),
    Fault(
        "a browser without cookies gets the form again after its press",
        "shown",
        "if attempt is None and has_lost_cookie and link is not LinkStatus.PAID:",
        "if False:",
        "A customer whose browser keeps no cookies is never told that it is paid, presses again, and pays twice.",
        _PAGES,
    ),
    Fault(
        "the mark of a press is good for every link",
        "Cookies.press_mark_of",
        'self._is_ours(f"press {code}", text, mac)',
        "text",
        "Whoever makes up an address has customers told to look at their phone, and nobody can pay there.",
        _PAGES,
    ),
    Fault(
        "a page tells of a prompt that was never sent",
        "_shown",
        "Status.PENDING if status is Status.PROCESSING and is_unsent else status",
        "status",
        "The customer waits for a prompt that does not come, reads that it may be paid, and pays with another number too.",
        _PAGES,
    ),
    Fault(
        "a number of a network that is not connected is taken",
        "_fields",
        "if channel in NETWORKS and channel not in offered(request):",
        "if False:",
        "Its prompt is never sent, and everybody else is told that another person is paying.",
        _PAGES,
    ),
)
