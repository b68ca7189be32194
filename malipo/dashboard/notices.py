"""Sentences that stand at the top of the page after something was done, by the names that cookies carry."""

NOTICES = {
    "logged-out": "You are logged out.",
    "password-chosen": "Your password is saved. Log in with it.",
}
