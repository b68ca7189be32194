"""Sentences that stand at the top of the page after something was done, by the names that cookies carry."""

NOTICES = {
    "logged-out": "You are logged out.",
    "password-chosen": "Your password is saved. Log in with it.",
    "payment-made": "It is taken in. Below you see how it goes on.",
    "payment-once": "This form was sent more than once. It made one payment: this one.",
    "payment-cancelled": "It is cancelled.",
}
