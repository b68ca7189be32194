"""Sentences that stand at the top of the page after something was done, by the names that cookies carry."""

NOTICES = {
    "logged-out": "You are logged out.",
    "password-chosen": "Your password is saved. Log in with it.",
    "payment-made": "It is taken in. Below you see how it goes on.",
    "payment-once": "This form was sent more than once. It made one payment: this one.",
    "payment-cancelled": "It is cancelled.",
    "key-revoked": "The key is revoked. It no longer works.",
    "webhook-changed": "It is saved.",
    "webhook-paused": "It is paused. Nothing is sent there.",
    "webhook-resumed": "It is on again.",
    "webhook-deleted": "The endpoint is deleted.",
    "rotation-finished": "Only the new secret signs from now on.",
    "delivery-again": "It is on its way once more.",
    "recovered": "What was missed is on its way.",
    "recovered-none": "There was nothing to send again: everything since then was taken.",
    "session-ended": "That session has ended.",
    "sessions-ended": "All other sessions have ended.",
    "role-changed": "The role is changed.",
    "person-removed": "They are removed, and logged out everywhere.",
}
