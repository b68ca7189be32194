"""The Python client of malipo: mobile-money payments in Tanzania.

    from malipo_client import Malipo

    with Malipo() as malipo:  # MALIPO_API_KEY and MALIPO_URL say which key, and where
        payment = malipo.payments.collect(amount=5000, channel="MPESA", buyer_phone="+255754000001")
        payment = malipo.payments.wait_until_ended(payment.id)

`AsyncMalipo` has the same methods, to be awaited. Importing this package loads neither asyncio nor a network library.
"""

from malipo_client.client import AsyncMalipo, Malipo
from malipo_client.errors import (
    ApiError,
    AuthenticationFailed,
    Conflict,
    ConnectionFailed,
    CursorExpired,
    CursorLost,
    IdempotencyKeyReused,
    InsufficientBalance,
    InvalidRequest,
    InvalidWebhook,
    MalipoError,
    NotEndedYet,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    RateLimited,
    Unavailable,
)
from malipo_client.records import (
    Attempt,
    Batch,
    BatchItem,
    BatchStatus,
    BatchWarning,
    Channel,
    ChannelName,
    Correction,
    Delivery,
    Event,
    EventPage,
    PaymentType,
    Quote,
    Receipt,
    ReceiptCorrection,
    ReceiptFact,
    ReceiptMerchant,
    Recipient,
    Record,
    Status,
    StatusLog,
    Transaction,
    Wallet,
    WalletEntry,
    Webhook,
)
from malipo_client.webhook_signature import sign_webhook, verify_webhook

__version__ = "0.5.0"

__all__ = [
    "ApiError",
    "AsyncMalipo",
    "Attempt",
    "AuthenticationFailed",
    "Batch",
    "BatchItem",
    "BatchStatus",
    "BatchWarning",
    "Channel",
    "ChannelName",
    "Conflict",
    "ConnectionFailed",
    "Correction",
    "CursorExpired",
    "CursorLost",
    "Delivery",
    "Event",
    "EventPage",
    "IdempotencyKeyReused",
    "InsufficientBalance",
    "InvalidRequest",
    "InvalidWebhook",
    "Malipo",
    "MalipoError",
    "NotEndedYet",
    "NotFound",
    "OutcomeUnknown",
    "PaymentType",
    "PermissionDenied",
    "Quote",
    "RateLimited",
    "Receipt",
    "ReceiptCorrection",
    "ReceiptFact",
    "ReceiptMerchant",
    "Recipient",
    "Record",
    "Status",
    "StatusLog",
    "Transaction",
    "Unavailable",
    "Wallet",
    "WalletEntry",
    "Webhook",
    "__version__",
    "sign_webhook",
    "verify_webhook",
]
