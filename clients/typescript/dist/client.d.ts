import { Http } from "./http.js";
import type * as t from "./types.js";
import { Webhooks } from "./webhook_endpoints.js";
/** Your merchant at a malipo. Use one for the whole program. Never in a browser: the API key moves money. */
export declare class Malipo {
    readonly payments: Payments;
    readonly batches: Batches;
    readonly links: Links;
    readonly settlements: Settlements;
    readonly wallet: Wallets;
    readonly channels: Channels;
    readonly recipients: Recipients;
    readonly events: Events;
    readonly webhooks: Webhooks;
    constructor(options?: t.MalipoOptions);
}
declare class Payments {
    private readonly http;
    constructor(http: Http);
    /** Ask a customer to pay. They get a prompt on the phone; you learn by webhook, or by `waitUntilEnded`, whether they paid. */
    collect({ idempotencyKey, ...body }: t.NewCollection): Promise<t.NewTransaction>;
    /** Send money from your wallet to a phone. */
    disburse({ idempotencyKey, ...body }: t.NewDisbursement): Promise<t.NewTransaction>;
    /** Give the money of a collection back: without an amount, all that is left. */
    refund(id: string, refund?: t.NewRefund): Promise<t.NewTransaction>;
    /** By id or reference. With `wait` the answer is held for so many seconds, until the status changes. */
    get(id: string, { wait, language }?: {
        wait?: number;
        language?: "en" | "sw";
    }): Promise<t.Transaction>;
    /** Of a COMPLETED payment: its page for the customer, and the proof of what became of it. */
    receipt(id: string): Promise<t.Receipt>;
    /** Every payment that fits, the newest first: `for await (const payment of client.payments.list())`. */
    list({ language, pageSize: limit, ...filters }?: t.PaymentFilters): AsyncGenerator<t.Transaction, void, undefined>;
    /** While it is PENDING. Again is the same again. */
    cancel(id: string): Promise<t.Transaction>;
    /** What it would cost. */
    quote(quote: t.NewQuote): Promise<t.Quote>;
    /** The payment once it is COMPLETED, FAILED or CANCELLED. If that takes longer, it throws {@link NotEndedYet}. */
    waitUntilEnded(id: string, { timeoutSeconds }?: {
        timeoutSeconds?: number;
    }): Promise<t.Transaction>;
}
/** Many payouts at once, made by one person and approved by another. */
declare class Batches {
    private readonly http;
    constructor(http: Http);
    /** Nothing moves before it is approved. */
    create({ idempotencyKey, ...body }: t.NewBatch): Promise<t.NewlyMadeBatch>;
    get(id: string): Promise<t.Batch>;
    list({ pageSize, ...filters }?: {
        status?: t.BatchStatus;
    } & t.Paged): AsyncGenerator<t.Batch, void, undefined>;
    /** Each payout of the batch, in your order. */
    items(id: string, { pageSize }?: t.Paged): AsyncGenerator<t.BatchItem, void, undefined>;
    /** The same as a file for a spreadsheet. */
    itemsCsv(id: string): Promise<string>;
    /** Now the payouts are sent. It takes a key with `payouts.approve`, of somebody else than who made the batch. */
    approve(id: string): Promise<t.Batch>;
    /** As far as nothing was sent. */
    cancel(id: string): Promise<t.Batch>;
}
/** Addresses that you send to customers, who pay on their pages. */
declare class Links {
    private readonly http;
    constructor(http: Http);
    /** Send its `url` to the customer. Without an amount the customer types it. */
    create({ idempotencyKey, ...body }: t.NewLink): Promise<t.NewlyMadeLink>;
    /** Its status at this moment, and what has come by it. */
    get(id: string): Promise<t.Link>;
    /** Every link, the newest first. */
    list({ pageSize, ...filters }?: {
        status?: t.LinkStatus;
    } & t.Paged): AsyncGenerator<t.Link, void, undefined>;
    /** No new attempt begins. Money that still comes is in `latePayments`. */
    cancel(id: string): Promise<t.Link>;
}
/** A part of the wallet that is sent to your bank account. */
declare class Settlements {
    private readonly http;
    constructor(http: Http);
    /** The amount leaves the wallet at once. Without an amount: all that can be settled. */
    create({ idempotencyKey, ...body }?: t.NewSettlement): Promise<t.NewlyMadeSettlement>;
    /** Its status at this moment, with the bank's own reference once it is known. */
    get(id: string): Promise<t.Settlement>;
    /** Every settlement, the newest first. */
    list({ pageSize, ...filters }?: {
        status?: t.SettlementStatus;
    } & t.Paged): AsyncGenerator<t.Settlement, void, undefined>;
    /** While it is in no file to the bank: the amount is in the wallet again. */
    cancel(id: string): Promise<t.Settlement>;
    /** What the settlement consists of, in sums that add up to it. */
    report(id: string): Promise<t.SettlementReport>;
    /** Each line of the report, the newest first. */
    reportEntries(id: string, { pageSize }?: t.Paged): AsyncGenerator<t.SettlementEntry, void, undefined>;
    /** The lines of the report as a file for a spreadsheet. */
    reportCsv(id: string): Promise<string>;
}
declare class Wallets {
    private readonly http;
    constructor(http: Http);
    get(): Promise<t.Wallet>;
    /** Each line of the statement, the newest first. */
    entries({ pageSize, ...filters }?: t.EntryFilters): AsyncGenerator<t.WalletEntry, void, undefined>;
    /** The same as a file for a spreadsheet. */
    entriesCsv(filters?: Omit<t.EntryFilters, "pageSize">): Promise<string>;
}
declare class Channels {
    private readonly http;
    constructor(http: Http);
    /** With a phone, one of them may be `suggested`. */
    list(query?: {
        phone?: string;
    }): Promise<t.ChannelProfile[]>;
}
declare class Recipients {
    private readonly http;
    constructor(http: Http);
    /** Whose number it is, before money is sent. */
    lookUp(recipient: {
        channel: t.Channel;
        phone: string;
    }): Promise<t.Recipient>;
}
declare class Events {
    private readonly http;
    constructor(http: Http);
    /**
     * One page of the feed, the oldest first. `after: "latest"` has no events, and a cursor at the end. `types` are the only
     * events to read, or "*" for every one: `batch.completed`, `link.…` and `settlement.…` come only then.
     */
    read(query?: {
        after?: string;
        limit?: number;
        wait?: number;
        types?: t.EventTypes;
    }): Promise<t.EventPage>;
    /** Page after page, for ever. Do the work of each, and store its `next` in the same transaction: nothing is lost. */
    follow({ after, types, pageSize: limit }?: {
        after?: string;
        types?: t.EventTypes;
    } & t.Paged): AsyncGenerator<t.EventPage, never, undefined>;
}
export {};
