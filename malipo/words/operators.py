"""Refusals that operators meet elsewhere: approvals, payments that need them, bookings, holds and releases."""

NUMBERS = {
    "number_blocked_already": "This number is blocked already.",
    "too_many_prompts": "This number cannot be asked at the moment.",
    "number_not_blocked": "This number is not blocked.",
}

APPROVALS = {
    "approval_changed": "The proposal has changed since you saw it. Look again.",
    "approval_nothing_proposed": "Nothing is proposed about it.",
    "approval_already_proposed": "{by} has already proposed it: another operator must approve or reject that.",
    "operators_same": "The operator who proposed it cannot approve it: it takes two operators.",
    "operators_not_vouched_for": "Another operator has set the password or reset the second factor of one of the two. "
    "Until a third operator vouches for it, or for 72 hours, that one cannot be one of two approvers.",
    "operators_not_alone": "There is more than one operator, so it takes two of them.",
    "operators_always_two": "This always takes two operators.",
    "operator_logged_in": "Only an operator who is logged in can do this.",
    "operator_role_insufficient": "Your role does not allow this. Ask an operator who may.",
    "role_own": "Nobody decides about their own role: two other operators do.",
    "role_same": "{name} has this role already.",
    "role_reason": "Say why this role, in 3 to 500 characters.",
    "role_nothing_waits": "No role of this operator waits for a second operator.",
    "operator_missing": "There is no operator {name!r}.",
    "operator_unknown": "The name or the password is not right.",
    "vouching_not_third": "A third operator must vouch: not the one who did the reset, not the one whose account it "
    "is, and not one who waits for the same.",
    "vouching_nothing_open": "No reset waits for a voucher, or it has changed since.",
    "key_nothing_waits": "No API key of this merchant waits for a second operator.",
}

CASES = {
    "case_unknown": "There is no payment {name!r} that is open or contradicted. Others are found by reference.",
    "case_evidence": "State what the network's statement or staff say, in 10 to 1,000 characters.",
    "case_network_waits": "Its network has it and has not decided, so it may still be paid. If you state that it will "
    "certainly not be paid, the second operator sees that statement.",
    "case_nothing_owed": "Nothing is owed of this payment, so nothing can be waived.",
    "case_nothing_proposed": "No outcome is proposed.",
    "case_proposed_completed": "It is already proposed as completed; approve that, or reject it.",
    "case_proposed_failed": "It is already proposed as failed; approve that, or reject it.",
    "case_proposed_send": "It is already proposed to send it; approve that, or reject it.",
    "case_proposed_cancel": "It is already proposed to cancel it; approve that, or reject it.",
    "case_resembles_adopted": "A payment from the same number, with the same amount, was adopted from the statement. "
    "If this one is its repeat, it has failed. If the customer has paid twice, the statement has another line: match "
    "that with it.",
    "case_sending": "It is being sent to its network right now. Try again in a minute or two.",
    "case_pending": "It is PENDING: nothing was sent. It can be cancelled.",
    "case_not_sent_by_decision": "Only a payment that waits because it resembles an adopted one can be sent by a "
    "decision.",
    "case_repeat_or_other": "If it is the repeat of the adopted payment, it has failed. If it is another one, and "
    "nothing was sent of it, it is sent. If the network has paid it too, match its line with it.",
    "case_adoption_undone": "It was adopted from a line of a statement, and that was undone. Adopt the line again.",
    "case_not_contradicted": "It is {status}, and nothing contradicts that.",
    "case_wallet_empty": "The wallet holds {available}, so nothing can be collected from it now. Try again when it "
    "holds more.",
    "case_merchant_can_cancel": "Its merchant is active, and can cancel it.",
    "case_not_pending": "Only a PENDING payment can be cancelled; this one is {status}.",
    "case_asked_first": "malipo queries its network whether it was sent before the restore. If the network cannot "
    "tell, propose the outcome.",
}

BOOKINGS = {
    "booking_unknown": "There is no booking {name!r}.",
    "booking_undone": "The booking {booking} was undone before.",
    "booking_is_undo": "A booking that undid another one cannot be undone: book the other one again.",
    "booking_is_rounding": "A rounding follows from other bookings: undo those.",
    "booking_is_of_invoice": "This booking is the VAT of an invoice, which never changes.",
    "booking_day_closed": "Days before {day} are closed: nothing is booked into them.",
    "bank_booking_needs_day": "An opening balance needs a day: the day at whose end the money was there.",
    "bank_booking_day_in_future": "{day} has not begun.",
    "bank_booking_only_opening_at_network": "Only an opening balance can be at a network.",
    "bank_booking_opening_too_late": "The opening balance at a network must be booked before the first day is closed. "
    "Book a transfer between the network and the bank.",
    "booking_not_proposed": "There is no proposal with the reference or id {name!r}.",
    "booking_several_proposed": "There are several proposals with the reference {reference!r}: {ids}. Give the id.",
    "booking_approved": "It was already approved by {by}; nothing has changed.",
    "booking_rejected": "It was already rejected by {by}; nothing has changed.",
    "reference_proposed": "The reference {reference!r} is proposed, and waits for another operator.",
    "reference_proposed_otherwise": "The reference {reference!r} is already proposed for another booking.",
    "reference_booked_otherwise": "The reference {reference!r} was already booked for another merchant, account or "
    "amount.",
    "reference_booked_without_proposal": "The reference {reference!r} was booked without its proposal, which can be "
    "rejected.",
    "wallet_too_low": "The wallet holds only {available}.",
    "wallet_owes": "The wallet holds only {available}, of which {owed} is owed.",
    "merchant_name": "A merchant's name is 1 to {most} printable characters.",
    "merchant_unknown": "There is no merchant {name!r}.",
    "merchant_several": "Several merchants are called {name!r}: {ids}. Give the id.",
}

TARIFFS = {
    "tariff_two_bands": "Two bands begin at the same amount.",
    "tariff_takes_too_much": "The band from {first} has a negative value, or a fee above 100%.",
    "tariff_limits_crossed": "The band from {first} has a maximum fee below its minimum fee.",
    "tariff_takes_all": "The band from {first} takes {fee} of a payment of {amount}: a fee must be less than the "
    "amount.",
}

RESTORE = {
    "hold_reason": "Say why, in 3 to 500 characters.",
    "hold_not_held": "There is no such hold.",
    "release_evidence": "State what you have checked, in 10 to 1,000 characters.",
    "release_nothing_proposed": "No release is proposed.",
    "release_not_fenced": "The installation is not fenced: there is nothing to release.",
    "release_never_restored": "The installation was never restored: there is nothing to release.",
}

SENTENCES = {**NUMBERS, **APPROVALS, **CASES, **BOOKINGS, **TARIFFS, **RESTORE}
