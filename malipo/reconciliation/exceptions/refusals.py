"""Why an action about an exception is refused, as codes. The sentences are in `malipo/words/exceptions.py`."""

from malipo.errors import Code


class ExceptionRefusal(Code):
    NO_SUCH = "exception_unknown"
    REASON = "exception_reason"
    PROPOSED = "exception_proposed"
    RESOLVED = "exception_resolved"
    ACTION = "exception_action"
    NEEDS_PAYMENT = "exception_needs_payment"
    NEEDS_MERCHANT = "exception_needs_merchant"
    OUTCOME = "exception_outcome"
    NOTHING_DONE = "exception_nothing_done"
    PAYMENT_RESOLVED = "exception_payment_resolved"
    CAUSE_GONE = "exception_cause_gone"
    UNDONE_GONE = "exception_undone_gone"


class MatchRefusal(Code):
    """Why a line is not the one of a payment."""

    NO_PAYMENT = "match_no_payment"
    NO_PLACE = "match_no_place"
    WRONG_WAY = "match_wrong_way"
    ADOPTION_UNDONE = "match_adoption_undone"
    NEVER_SENT = "match_never_sent"
    REFUND_AMOUNT = "match_refund_amount"
    RECEIPT_ELSEWHERE = "match_receipt_elsewhere"
    ANOTHER_LIKE_IT = "match_another_like_it"
    ANOTHER_HAS_KEY = "match_another_has_key"
    ANOTHER_HAS_RECEIPT = "match_another_has_receipt"


class BookRefusal(Code):
    NOTHING_LACKS = "book_nothing_lacks"
    ACCOUNT = "book_account"


class AdoptRefusal(Code):
    """Why a line does not become a payment that was lost."""

    NO_LINE = "adopt_no_line"
    CENTS = "adopt_cents"
    TAKES_BACK = "adopt_takes_back"
    TARIFF = "adopt_tariff"
    REPEATED = "adopt_repeated"
    NEEDS_PHONE = "adopt_needs_phone"
    NO_PHONE = "adopt_no_phone"
    OTHER_PHONE = "adopt_other_phone"
    ONE_CHANNEL = "adopt_one_channel"
    WHICH_CHANNEL = "adopt_which_channel"
    OF_BATCH = "adopt_of_batch"
    OTHER_KEY = "adopt_other_key"
    KEY_INVALID = "adopt_key_invalid"
    KEY_OF_OTHER_AMOUNT = "adopt_key_of_other_amount"
    KEY_USED = "adopt_key_used"
    LIKE_IT = "adopt_like_it"
    NO_REFUND = "adopt_no_refund"
    NO_COLLECTION = "adopt_no_collection"
    REFUND_GOES_ELSEWHERE = "adopt_refund_goes_elsewhere"
    REFUND_KEY = "adopt_refund_key"
    COLLECTION_OPEN = "adopt_collection_open"
    COLLECTION_NOT_PAID = "adopt_collection_not_paid"
    COLLECTION_USED_UP = "adopt_collection_used_up"
