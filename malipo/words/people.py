"""Refusals that people of merchants and operators meet about their accounts, on pages and at the terminal only."""

SENTENCES = {
    "login_over": "There were too many wrong codes, or it took too long. Log in again.",
    "second_factor_exists": "Two-step log-in is set up already.",
    "second_factor_missing": "Two-step log-in is not set up.",
    "second_factor_own": "Your own is removed in your settings, with a code.",
    "second_factor_own_first": "Set up your own two-step log-in first.",
    "enrolment_invalid": "This page is too old. Scan the new picture.",
    "approval_fixed": "Owners always may approve, and viewers never: only staff can be allowed it.",
    "rules_need_another_owner": "Only another owner confirms it: not who asked for it, and nobody who was invited or "
    "reset by somebody else within 72 hours.",
    "no_rules_wait": "No rules wait for that, or others do by now.",
    "vouching_needs_another_owner": "Only an owner vouches for it who had no part in it.",
    "nothing_to_vouch_for": "Nothing of this person waits for that, or something else does by now.",
    "email_not_mailable": "No e-mail can be sent to {email}. Make a link, and hand it over.",
    "too_many_mails": "Enough e-mails with links were sent today, to {email} or by your business. Make a link and hand "
    "it over, or try again tomorrow.",
    "api_key_changed": "Somebody else has changed this key since you opened the page. Below is how it is now; "
    "nothing of yours was saved.",
    "vouching_needs_another_operator": "Only another operator vouches for it: not who made the link or did the "
    "reset, also not by way of others, and nobody who waits for the same.",
}
