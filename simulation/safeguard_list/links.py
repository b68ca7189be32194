"""Payment links and pay pages: a link takes what it may, a press is one attempt, and a number is left in peace."""

from malipo.links import attempt_key, press, press_decision, refuse_prompts
from malipo.links.count import Tally
from malipo.links.store import attempts, links, prompts
from malipo.pay_pages import pay_page
from malipo.payments.store import link_attempts
from simulation.safeguard_list.remove_safeguard import InConstant, InFunction, Safeguard

_LOCKED = "WHERE code = ANY($1::text[]) ORDER BY merchant_id, id FOR UPDATE"
_ROOM_OF_COMMIT = InFunction(press._Grants.take, "if self._granted[link.id] >= room:", "if False:")
_READ = (
    "opened = await attempts.find_open(tx, keys, phones, prompt_seconds=self._prompt_seconds)",
    "found = await links.find(tx, keys)",
)
# What looking at a page would do if it had an effect: ask again where it was not paid.
_ASK_AGAIN = """if page.attempt is not None and page.attempt.payment.status is Status.FAILED:
        payment = page.attempt.payment
        typed = {"buyerPhone": payment.phone, "channel": payment.channel.value, "amount": payment.amount}
        with suppress(Conflict, Invalid, TooMany, OutcomeUnknown, IntakeClosed):
            await request.parts.links.press(press_of(Fields(typed), page.link.code))
    return answer(request, page)"""

SAFEGUARDS = (
    Safeguard(
        "link-locked",
        "Presses at one link are decided one after the other.",
        (InFunction(links.lock_by_codes, _LOCKED, _LOCKED.removesuffix(" FOR UPDATE")),),
    ),
    Safeguard(
        "one-open-attempt",
        "A link that is paid once asks one number at a time.",
        (InFunction(press_decision.decide, "if others is Others.ASKED:", "if False:"),),
    ),
    Safeguard(
        "second-number-warned",
        "While another number may have paid, only who knows that is asked.",
        (InFunction(press_decision.decide, "if others is Others.DOUBTFUL and not may_be_second:", "if False:"),),
    ),
    Safeguard(
        "one-attempt-a-commit",
        "Of presses that share a commit no more make an attempt than the link has room for.",
        (_ROOM_OF_COMMIT,),
        note="hardly simulated: presses of two numbers at one link must share a commit; tests of presses in "
        "one commit hold it",
    ),
    Safeguard(
        "closed-link-takes-nothing",
        "No attempt begins at a link that is paid, cancelled or expired.",
        (InFunction(press_decision.decide, "if status in _CLOSED:", "if False:"),),
    ),
    Safeguard(
        "open-attempts-fill",
        "What is open counts against `maxPayments`.",
        (
            InFunction(
                press.decision_on,
                "link.paid_count + len(opened) >= link.max_payments",
                "link.paid_count >= link.max_payments",
            ),
            _ROOM_OF_COMMIT,
        ),
    ),
    Safeguard(
        "one-open-a-number",
        "A number that is being asked at a link is not asked there once more.",
        (
            InFunction(
                press._own_open,
                "return next((each.transaction_id for each in opened if each.phone == attempt.press.phone), None)",
                "return None",
            ),
        ),
    ),
    Safeguard(
        "one-attempt-a-press",
        "A page that is sent again is the same press, also when its payment has ended meanwhile.",
        (InFunction(press._own_open, "if number.of_press is not None:", "if False:"),),
        note="hardly simulated: a page must be sent again, because no answer came, when its payment has ended "
        "meanwhile",
    ),
    Safeguard(
        "open-read-before-paid",
        "Open attempts are read before what is paid: a payment that ends between is seen.",
        (
            InFunction(
                press.PressLinks._take_turn,
                "\n    ".join(_READ),
                "\n    ".join(reversed(_READ)),
            ),
        ),
        note="hardly simulated: a payment must end between two statements of a press",
    ),
    Safeguard(
        "uncounted-counts",
        "A link is paid from the commit on that completes its payment, and not once a worker has counted it.",
        (InConstant(links, "_LIVE", "AND NOT a.is_counted) now) live", "AND false) now) live"),),
    ),
    Safeguard(
        "attempt-key-derived",
        "An attempt that a restored database has lost has the same key when its customer presses again.",
        (
            InFunction(
                press.payment_request_of,
                "network_key_of(secret, link.merchant_id, link.code, press.phone, ordinal, typed_amount)",
                "network_key_of(secret, link.merchant_id, attempt.transaction_id, press.phone, ordinal, typed_amount)",
            ),
        ),
    ),
    Safeguard(
        "attempt-key-by-number",
        "Attempts of two numbers at a link have two keys.",
        (InFunction(attempt_key.key_of, "{code}:{phone}", "{code}"),),
    ),
    Safeguard(
        "attempt-key-by-ordinal",
        "A number that tries again has another key.",
        (InFunction(attempt_key.key_of, ':{ordinal}"', '"'),),
    ),
    Safeguard(
        "late-flagged",
        "Money that came after a link was paid, cancelled or expired is late, and told.",
        (InFunction(Tally.add, "if not attempt.was_paid and late is None:", "if False:"),),
    ),
    Safeguard(
        "paid-in-order",
        "Of several payments the one that came first is the link's, and the others are late.",
        (
            InFunction(
                attempts.find_ended,
                "ORDER BY {PAID_AT}, a.transaction_id",
                "ORDER BY {PAID_AT} DESC, a.transaction_id",
            ),
        ),
        note="hardly simulated: two payments of one link must wait to be counted",
    ),
    Safeguard(
        "corrected-counted-again",
        "An attempt whose payment is corrected is counted again.",
        (InFunction(link_attempts.count_again, "SET is_counted = false", "SET is_counted = is_counted"),),
    ),
    Safeguard(
        "prompts-limited",
        "A number that does not answer, or does not pay, is left in peace.",
        (InFunction(refuse_prompts._refusal, "if met is not None or is_blocked:", "if False:"),),
    ),
    Safeguard(
        "prompts-of-a-number-in-turn",
        "Presses of one number at two links are counted one after the other.",
        (
            InFunction(
                prompts.lock_numbers,
                "pg_advisory_xact_lock(hashtextextended('prompt ' || number, 0))",
                "hashtextextended('prompt ' || number, 0)",
            ),
        ),
        note="hardly simulated: one number must be pressed at two links at one moment, just below a limit",
    ),
    Safeguard(
        "looking-has-no-effect",
        "Who looks at a page, or loads it again, asks nobody.",
        (InFunction(pay_page.show, "return answer(request, page)", _ASK_AGAIN),),
    ),
)
