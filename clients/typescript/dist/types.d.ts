export type Channel = "MPESA" | "TIGO_PESA" | "AIRTEL_MONEY" | "HALOPESA";
export type TransactionType = "COLLECTION" | "DISBURSEMENT";
/** COMPLETED, FAILED and CANCELLED are final. */
export type Status = "PENDING" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED";
export type FailureCode = "declined" | "expired" | "insufficient_funds" | "invalid_recipient" | "limit_exceeded" | "not_received" | "channel_unavailable" | "rejected";
export type FailureDetail = "not_registered" | "barred" | "float_too_low";
export type Metadata = Record<string, string | number | boolean | null>;
/** A date (a day in UTC), or a date-time with offset. */
export type Moment = string | Date;
export interface MalipoOptions {
    /** Default: the environment variable MALIPO_API_KEY. */
    apiKey?: string;
    /** Default: the environment variable MALIPO_URL. */
    baseUrl?: string;
    /** How long one attempt may take, without the time that you asked malipo to wait. Default: 30. */
    timeoutSeconds?: number;
    /** How often a request is sent again if that is safe. Default: 3. */
    retries?: number;
    /** Default: the global one. */
    fetch?: typeof fetch;
}
export interface Paged {
    /** How many are fetched at a time, up to 100. Default: 100. */
    pageSize?: number;
}
/** Where money moves. */
export interface Keyed {
    /**
     * Your own name for this attempt, such as `order-1042-1`: sent again with the same key it is the same payment, also if that
     * has failed. Default: a random one.
     */
    idempotencyKey?: string;
}
export interface NewCollection extends Keyed {
    amount: number;
    channel: Channel;
    /** The phone that gets the prompt: `+255`, then 6 or 7, then eight digits. */
    buyerPhone: string;
    buyerName?: string;
    description?: string;
    metadata?: Metadata;
    orderReference?: string;
    currency?: "TZS";
}
export interface NewDisbursement extends Keyed {
    amount: number;
    channel: Channel;
    /** The phone that gets the money: `+255`, then 6 or 7, then eight digits. */
    recipientPhone: string;
    recipientName?: string;
    description?: string;
    metadata?: Metadata;
    orderReference?: string;
    currency?: "TZS";
}
export interface NewRefund extends Keyed {
    /** Leave it out to give back all that is left. */
    amount?: number;
    reason?: string;
    orderReference?: string;
    currency?: "TZS";
}
export interface NewQuote {
    type: TransactionType;
    channel: Channel;
    amount: number;
    currency?: "TZS";
}
/** A collection or a disbursement. */
export interface Transaction {
    id: string;
    /** Easy to read out on the telephone. Works wherever the id does. */
    reference: string;
    type: TransactionType;
    amount: number;
    fee: number;
    netAmount: number;
    channel: Channel;
    status: Status;
    buyerPhone?: string;
    buyerName?: string;
    recipientPhone?: string;
    recipientName?: string;
    description: string;
    metadata: Metadata;
    orderReference?: string;
    providerReference?: string;
    failureCode?: FailureCode;
    failureReason?: string;
    /** What the network said beyond `failureCode`, where it said more. */
    failureDetail?: FailureDetail;
    /** The network's own code or word, if its answer ended the payment. */
    networkCode?: string;
    batchId?: string;
    /** The payment link that the customer paid it by. */
    link?: string;
    createdAt: string;
    completedAt?: string;
    correction?: Correction;
    /** Refunds only: the collection that it gives back. */
    refundOf?: string;
    refundedAmount?: number;
    refunds?: string[];
    /** Not in lists and events. */
    statusLogs?: {
        status: Status;
        timestamp: string;
    }[];
}
/** What is answered at once when a payment is created. */
export type NewTransaction = Omit<Transaction, "type" | "metadata" | "status"> & {
    type?: TransactionType;
    status: "PENDING";
} & Replayable<Status>;
/** What the answer to an idempotencyKey has beside its fields. */
export interface Replayable<Now> {
    /**
     * Whether the key was used before, perhaps by this call, whose answer was lost. The fields are those of the first answer: ask
     * by `get` for those of now.
     */
    isReplay: boolean;
    /** The status at the time of this answer. */
    currentStatus: Now;
}
/** What `verify_receipt.py` verifies, if it is kept as JSON. */
export interface Receipt {
    /** Of a refund, the collection that it gives back. */
    id: string;
    reference: string;
    type: TransactionType;
    amount: number;
    currency: "TZS";
    channel: Channel;
    status: Status;
    /** Of the customer, masked. */
    phone: string;
    merchant: ReceiptMerchant;
    providerReference?: string;
    completedAt?: string;
    refundedAmount?: number;
    correction?: ReceiptCorrection;
    /** Its page. Whoever has the address can open it. */
    url: string;
    facts: ReceiptFact[];
}
export interface ReceiptMerchant {
    name: string;
    registeredName?: string;
    tin?: string;
}
/** What counts now, because the network said something else after the end. */
export interface ReceiptCorrection {
    outcome: "COMPLETED" | "FAILED";
    correctedAt: string;
}
/** What became true, and the proof that the log has it: null until a checkpoint covers it. */
export interface ReceiptFact {
    kind: string;
    fact: string | null;
    salt: string | null;
    proof: string | null;
}
/** What was put right after the end, because the network said something else later. */
export interface Correction {
    outcome: "COMPLETED" | "FAILED";
    amount: number;
    correctedAt: string;
    reason: "credited" | "debt_recorded" | "debt_collected" | "debt_waived" | "debt_withdrawn";
}
export interface PaymentFilters extends Paged {
    status?: Status | Status[];
    type?: TransactionType;
    channel?: Channel;
    from?: Moment;
    to?: Moment;
    search?: string;
    orderReference?: string;
    /** The network's receipt number, as in the customer's SMS. */
    providerReference?: string;
    idempotencyKey?: string;
    /** The id of a payment link. */
    link?: string;
    /** The language of `failureReason`. */
    language?: "en" | "sw";
}
export interface Quote {
    type: TransactionType;
    channel: Channel;
    amount: number;
    fee: number;
    netAmount: number;
    totalAmount: number;
}
export type BatchStatus = "AWAITING_APPROVAL" | "RUNNING" | "COMPLETED" | "CANCELLED";
export interface NewBatch extends Keyed {
    name?: string;
    /** 1 to 5,000. */
    items: NewBatchItem[];
}
export interface NewBatchItem {
    amount: number;
    channel: Channel;
    recipientPhone: string;
    recipientName?: string;
    description?: string;
    orderReference?: string;
}
export interface Batch {
    id: string;
    name: string;
    status: BatchStatus;
    count: number;
    amount: number;
    fee: number;
    /** How many of its payouts have which status, once it was approved. */
    counts?: Record<Status, number>;
    createdAt: string;
    approvedAt?: string;
    completedAt?: string;
    cancelledAt?: string;
    /** What may be paid twice. Look at it; it is no refusal. */
    warnings?: {
        index: number;
        code: "repeated_item" | "paid_before" | "awaiting_too";
        message: string;
    }[];
}
export type NewlyMadeBatch = Batch & Replayable<BatchStatus>;
export interface BatchItem {
    index: number;
    amount: number;
    fee: number;
    channel: Channel;
    recipientPhone: string;
    recipientName: string;
    description: string;
    nameFound?: string;
    orderReference?: string;
    refundOf?: string;
    id?: string;
    reference?: string;
    status?: Status;
    providerReference?: string;
    failureCode?: FailureCode;
    failureReason?: string;
    completedAt?: string;
}
export type LinkStatus = "ACTIVE" | "PAID" | "EXPIRED" | "CANCELLED";
export interface NewLink extends Keyed {
    /** What the customer pays. Without it, the customer types it. */
    amount?: number;
    minAmount?: number;
    maxAmount?: number;
    /** What it is for, as the customer reads it. */
    description: string;
    orderReference?: string;
    /** Whether it may be paid more than once, by anybody. */
    reusable?: boolean;
    maxPayments?: number;
    expiresAt?: Moment;
    returnUrl?: string;
    currency?: "TZS";
}
/** A payment that came by a link after its end, or beside another one. The money is in the wallet. */
export interface LatePayment {
    id: string;
    reason: "already_paid" | "expired" | "cancelled";
    amount: number;
    paidAt: string;
}
export interface Link {
    id: string;
    /** Not in events. */
    url: string;
    status: LinkStatus;
    amount?: number;
    minAmount?: number;
    maxAmount?: number;
    description: string;
    orderReference?: string;
    reusable: boolean;
    maxPayments?: number;
    expiresAt?: string;
    returnUrl?: string;
    paidCount: number;
    paidAmount: number;
    latePayments?: LatePayment[];
    createdAt: string;
    paidAt?: string;
    cancelledAt?: string;
}
export type NewlyMadeLink = Omit<Link, "paidCount" | "paidAmount"> & Replayable<LinkStatus>;
export type SettlementStatus = "REQUESTED" | "SENT" | "COMPLETED" | "RETURNED" | "CANCELLED";
export interface NewSettlement extends Keyed {
    /** What leaves the wallet, with the fee. Without it: all that can be settled. */
    amount?: number;
    /** Without it: the account that could be used last. */
    bankAccountId?: string;
    orderReference?: string;
    currency?: "TZS";
}
export interface Settlement {
    id: string;
    reference: string;
    status: SettlementStatus;
    amount: number;
    fee: number;
    /** What the bank gets: the amount without the fee. */
    netAmount: number;
    /** Only the end of its number is shown. */
    bankAccount?: {
        id: string;
        bic: string;
        accountNumber: string;
        holderName: string;
    };
    orderReference?: string;
    /** The day of the schedule that requested it. */
    scheduledOn?: string;
    /** It was found on the bank's statement after a restore of the service. */
    adopted?: boolean;
    createdAt: string;
    sentAt?: string;
    completedAt?: string;
    bookedOn?: string;
    bankReference?: string;
    returnedAt?: string;
    returnReason?: string;
    cancelledAt?: string;
}
export type NewlyMadeSettlement = Settlement & Replayable<SettlementStatus>;
export type SettlementGroup = "COLLECTION" | "PAYOUT" | "PAYOUT_RETURNED" | "REFUND" | "REFUND_RETURNED" | "TOP_UP" | "CORRECTION" | "SETTLEMENT_BOOKED" | "SETTLEMENT_RETURNED" | "SETTLEMENT";
/** What a settlement consists of: opening + the net of the groups = closing. */
export interface SettlementReport {
    settlementId: string;
    reference: string;
    firstLine: number;
    lastLine: number;
    opening: number;
    groups: {
        group: SettlementGroup;
        count: number;
        gross: number;
        fee: number;
        net: number;
    }[];
    closing: number;
    bankReference?: string;
}
export interface SettlementEntry {
    line: number;
    group: SettlementGroup;
    gross: number;
    fee: number;
    net: number;
    balanceAfter: number;
    causeId: string;
    reference: string;
    orderReference: string;
    createdAt: string;
}
export interface Wallet {
    currency: "TZS";
    available: number;
    reserved: number;
    /** What the wallet has to give back by corrections. Payouts need `available` − `owed`. */
    owed?: number;
    updatedAt: string;
}
export type EntryKind = "COLLECTION" | "PAYOUT" | "PAYOUT_RETURNED" | "TOP_UP" | "SETTLEMENT" | "CORRECTION_CREDIT" | "CORRECTION_DEBIT" | "SETTLEMENT_RETURNED";
export interface WalletEntry {
    /** Counts from 1 without gaps, and never changes. */
    line: number;
    kind: EntryKind;
    amount: number;
    balanceAfter: number;
    causeId: string;
    reference: string;
    createdAt: string;
}
export interface EntryFilters extends Paged {
    from?: Moment;
    to?: Moment;
    kind?: EntryKind;
}
export interface ChannelProfile {
    channel: Channel;
    name: string;
    minAmount: number;
    maxAmount: number;
    prefixes: string[];
    isUp: boolean;
    suggested?: true;
}
export interface Recipient {
    channel: Channel;
    phone: string;
    /** Null if the network does not say. */
    name: string | null;
    isRegistered: boolean | null;
    checkedAt: string | null;
}
export type EventName = "payment.pending" | "payment.completed" | "payment.failed" | "payment.cancelled" | "payment.corrected" | "payment.refunded" | "payout.completed" | "payout.failed" | "payout.cancelled" | "payout.corrected" | "batch.completed" | "link.paid" | "link.late" | "settlement.completed" | "settlement.returned";
/** Which events to read; "*": every one. */
export type EventTypes = EventName[] | EventName | "*";
/** What happened to a payment. */
export interface PaymentEvent {
    /** The same in the feed and in the webhook: deduplicate on it. */
    id: string;
    event: Exclude<EventName, "batch.completed" | "link.paid" | "link.late" | "settlement.completed" | "settlement.returned"> | "webhook.test";
    /** Only in the feed. */
    createdAt?: string;
    /** The payment as it was at that moment. */
    transaction: Transaction;
    batch?: undefined;
    link?: undefined;
    settlement?: undefined;
}
/** What happened to a batch. It comes only to who asks for it: an endpoint with "*", a reader of the feed by `types`. */
export interface BatchEvent {
    id: string;
    event: "batch.completed";
    createdAt?: string;
    batch: Batch;
    transaction?: undefined;
    link?: undefined;
    settlement?: undefined;
}
/** What became of a payment link. It comes only to who asks for it, as events of batches do. */
export interface LinkEvent {
    id: string;
    event: "link.paid" | "link.late";
    createdAt?: string;
    /** `payment` is the id of the payment that the event is about. */
    link: Omit<Link, "url"> & {
        payment: string;
    };
    transaction?: undefined;
    batch?: undefined;
    settlement?: undefined;
}
/** What became of a settlement. It comes only to who asks for it, as events of batches do. */
export interface SettlementEvent {
    id: string;
    event: "settlement.completed" | "settlement.returned";
    createdAt?: string;
    settlement: Settlement;
    transaction?: undefined;
    batch?: undefined;
    link?: undefined;
}
/** Look at `event` first: `batch.completed` has a `batch`, `link.…` a `link`, `settlement.…` a `settlement`, and none of these a `transaction`. */
export type MalipoEvent = PaymentEvent | BatchEvent | LinkEvent | SettlementEvent;
export interface EventPage {
    events: MalipoEvent[];
    /** Store it with the work, and pass it as `after`. */
    next: string;
}
export interface NewWebhook {
    url: string;
    events: (EventName | "*")[];
}
export interface WebhookChange {
    url?: string;
    events?: (EventName | "*")[];
    isActive?: boolean;
}
export interface Webhook {
    id: string;
    url: string;
    events: (EventName | "*")[];
    isActive: boolean;
    createdAt?: string;
    /** Only when it was made: shown this once. */
    secret?: string;
    rotationEndsAt?: string;
    failingSince?: string;
    switchedOffAt?: string;
    switchedOffReason?: string;
}
export type DeliveryState = "PENDING" | "DELIVERED" | "EXHAUSTED";
export interface Delivery {
    /** The event's id. */
    id: string;
    event: MalipoEvent["event"];
    state: DeliveryState;
    transactionId?: string;
    batchId?: string;
    linkId?: string;
    settlementId?: string;
    nextAttemptAt?: string;
    attempts: Attempt[];
}
export interface Attempt {
    id: string;
    at: string;
    durationMs: number;
    status?: number;
    headers?: Record<string, string>;
    answer?: string;
    error?: string;
}
