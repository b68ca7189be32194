"""Refusals that people of merchants and operators meet about their accounts, on pages and at the terminal only."""

SENTENCES = {
    "login_over": "There were too many wrong codes, or it took too long. Log in again.",
    "second_factor_exists": "Two-step log-in is set up already.",
    "second_factor_missing": "Two-step log-in is not set up.",
    "second_factor_own": "You can remove your own second factor only in your settings, with a code.",
    "second_factor_own_first": "Set up your own two-step log-in first.",
    "enrolment_invalid": "This page is too old. Scan the new picture.",
    "approval_fixed": "Owners can always approve, and viewers never. Only for staff can this be changed.",
    "rules_need_another_owner": "Another owner must confirm this: not the one who asked for it, and not one who was "
    "invited or reset by another person within the last 72 hours.",
    "no_rules_wait": "No rules wait for confirmation, or they have changed since.",
    "vouching_needs_another_owner": "An owner who had no part in it must vouch.",
    "nothing_to_vouch_for": "There is nothing to vouch for, or it has changed since.",
    "email_not_mailable": "No e-mail can be sent to {email}. Make a link and hand it over.",
    "too_many_mails": "No more e-mails with links can be sent today to {email} or by your business. Make a link and "
    "hand it over, or try again tomorrow.",
    "api_key_changed": "Another person has changed this key since you opened the page. Its current settings are "
    "below; your changes were not saved.",
    "vouching_needs_another_operator": "Another operator must vouch: not the one who made the link or did the reset, "
    "directly or through other accounts, and not one who waits for the same.",
}
