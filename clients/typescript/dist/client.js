import { MalipoError, NotEndedYet } from "./errors.js";
import { Http } from "./http.js";
import { ROUTES } from "./routes.js";
import { Webhooks } from "./webhook_endpoints.js";
/** The most that a page has, and the longest that malipo holds an answer. */
const PAGE = 100;
const LONGEST_WAIT_SECONDS = 25;
/** Your merchant at a malipo. Use one for the whole program. Never in a browser: the API key moves money. */
export class Malipo {
    payments;
    batches;
    links;
    settlements;
    wallet;
    channels;
    recipients;
    events;
    webhooks;
    constructor(options = {}) {
        const http = new Http(options);
        this.payments = new Payments(http);
        this.batches = new Batches(http);
        this.links = new Links(http);
        this.settlements = new Settlements(http);
        this.wallet = new Wallets(http);
        this.channels = new Channels(http);
        this.recipients = new Recipients(http);
        this.events = new Events(http);
        this.webhooks = new Webhooks(http);
    }
}
class Payments {
    http;
    constructor(http) {
        this.http = http;
    }
    /** Ask a customer to pay. They get a prompt on the phone; you learn by webhook, or by `waitUntilEnded`, whether they paid. */
    collect({ idempotencyKey, ...body }) {
        return this.http.call(ROUTES.collect, { body, idempotencyKey });
    }
    /** Send money from your wallet to a phone. */
    disburse({ idempotencyKey, ...body }) {
        return this.http.call(ROUTES.disburse, { body, idempotencyKey });
    }
    /** Give the money of a collection back: without an amount, all that is left. */
    async refund(id, refund = {}) {
        // As JSON, undefined and NaN would be no amount, and a mistake in the shop would give everything back.
        if ("amount" in refund && !Number.isSafeInteger(refund.amount)) {
            throw new MalipoError(`The amount of a refund is ${refund.amount}. To refund all that is left, leave it out.`);
        }
        const { idempotencyKey, ...body } = refund;
        return this.http.call(ROUTES.refund, { ids: { id }, body, idempotencyKey });
    }
    /** By id or reference. With `wait` the answer is held for so many seconds, until the status changes. */
    get(id, { wait, language } = {}) {
        return this.http.call(ROUTES.getPayment, { ids: { id }, query: { wait }, waitSeconds: wait, language });
    }
    /** Of a COMPLETED payment: its page for the customer, and the proof of what became of it. */
    receipt(id) {
        return this.http.call(ROUTES.getReceipt, { ids: { id } });
    }
    /** Every payment that fits, the newest first: `for await (const payment of client.payments.list())`. */
    async *list({ language, pageSize: limit = PAGE, ...filters } = {}) {
        for (let before;;) {
            const query = { ...filters, view: "full", limit, before };
            const page = await this.http.call(ROUTES.listPayments, { query, language });
            yield* page.transactions;
            before = page.transactions.at(-1)?.id; // What is made meanwhile moves nothing.
            if (page.transactions.length < limit)
                return;
        }
    }
    /** While it is PENDING. Again is the same again. */
    cancel(id) {
        return this.http.call(ROUTES.cancelPayment, { ids: { id } });
    }
    /** What it would cost. */
    quote(quote) {
        return this.http.call(ROUTES.quote, { body: quote });
    }
    /** The payment once it is COMPLETED, FAILED or CANCELLED. If that takes longer, it throws {@link NotEndedYet}. */
    async waitUntilEnded(id, { timeoutSeconds = 180 } = {}) {
        const end = Date.now() + timeoutSeconds * 1000;
        for (let wait = 0;;) {
            const payment = await this.get(id, { wait });
            if (["COMPLETED", "FAILED", "CANCELLED"].includes(payment.status))
                return payment;
            wait = Math.min(LONGEST_WAIT_SECONDS, Math.ceil((end - Date.now()) / 1000));
            if (wait <= 0)
                throw new NotEndedYet(payment);
        }
    }
}
/** Many payouts at once, made by one person and approved by another. */
class Batches {
    http;
    constructor(http) {
        this.http = http;
    }
    /** Nothing moves before it is approved. */
    create({ idempotencyKey, ...body }) {
        return this.http.call(ROUTES.createBatch, { body, idempotencyKey });
    }
    get(id) {
        return this.http.call(ROUTES.getBatch, { ids: { id } });
    }
    list({ pageSize, ...filters } = {}) {
        const page = (query) => this.http.call(ROUTES.listBatches, { query });
        return pages(async (number) => (await page({ ...filters, ...number })).batches, pageSize, (each, last) => each.id < last.id);
    }
    /** Each payout of the batch, in your order. */
    items(id, { pageSize } = {}) {
        const page = (query) => this.http.call(ROUTES.listBatchItems, { ids: { id }, query });
        return pages(async (number) => (await page(number)).items, pageSize, (each, last) => each.index > last.index);
    }
    /** The same as a file for a spreadsheet. */
    itemsCsv(id) {
        return this.http.call(ROUTES.listBatchItems, { ids: { id }, query: { format: "csv" }, as: "text" });
    }
    /** Now the payouts are sent. It takes a key with `payouts.approve`, of somebody else than who made the batch. */
    approve(id) {
        return this.http.call(ROUTES.approveBatch, { ids: { id } });
    }
    /** As far as nothing was sent. */
    cancel(id) {
        return this.http.call(ROUTES.cancelBatch, { ids: { id } });
    }
}
/** Addresses that you send to customers, who pay on their pages. */
class Links {
    http;
    constructor(http) {
        this.http = http;
    }
    /** Send its `url` to the customer. Without an amount the customer types it. */
    create({ idempotencyKey, ...body }) {
        return this.http.call(ROUTES.createLink, { body, idempotencyKey });
    }
    /** Its status at this moment, and what has come by it. */
    get(id) {
        return this.http.call(ROUTES.getLink, { ids: { id } });
    }
    /** Every link, the newest first. */
    list({ pageSize, ...filters } = {}) {
        const page = (query) => this.http.call(ROUTES.listLinks, { query });
        return pages(async (number) => (await page({ ...filters, ...number })).links, pageSize, (each, last) => each.id < last.id);
    }
    /** No new attempt begins. Money that still comes is in `latePayments`. */
    cancel(id) {
        return this.http.call(ROUTES.cancelLink, { ids: { id } });
    }
}
/** A part of the wallet that is sent to your bank account. */
class Settlements {
    http;
    constructor(http) {
        this.http = http;
    }
    /** The amount leaves the wallet at once. Without an amount: all that can be settled. */
    create({ idempotencyKey, ...body } = {}) {
        return this.http.call(ROUTES.createSettlement, { body, idempotencyKey });
    }
    /** Its status at this moment, with the bank's own reference once it is known. */
    get(id) {
        return this.http.call(ROUTES.getSettlement, { ids: { id } });
    }
    /** Every settlement, the newest first. */
    list({ pageSize, ...filters } = {}) {
        const page = (query) => this.http.call(ROUTES.listSettlements, { query });
        return pages(async (number) => (await page({ ...filters, ...number })).settlements, pageSize, (each, last) => each.id < last.id);
    }
    /** While it is in no file to the bank: the amount is in the wallet again. */
    cancel(id) {
        return this.http.call(ROUTES.cancelSettlement, { ids: { id } });
    }
    /** What the settlement consists of, in sums that add up to it. */
    async report(id) {
        const query = { limit: 1 };
        return (await this.http.call(ROUTES.getSettlementReport, { ids: { id }, query })).report;
    }
    /** Each line of the report, the newest first. */
    reportEntries(id, { pageSize } = {}) {
        const page = (query) => this.http.call(ROUTES.getSettlementReport, { ids: { id }, query });
        return pages(async (number) => (await page(number)).entries, pageSize, (each, last) => each.line < last.line);
    }
    /** The lines of the report as a file for a spreadsheet. */
    reportCsv(id) {
        return this.http.call(ROUTES.getSettlementReport, { ids: { id }, query: { format: "csv" }, as: "text" });
    }
}
class Wallets {
    http;
    constructor(http) {
        this.http = http;
    }
    get() {
        return this.http.call(ROUTES.getWallet);
    }
    /** Each line of the statement, the newest first. */
    entries({ pageSize, ...filters } = {}) {
        const page = (query) => this.http.call(ROUTES.listWalletEntries, { query });
        return pages(async (number) => (await page({ ...filters, ...number })).entries, pageSize, (each, last) => each.line < last.line);
    }
    /** The same as a file for a spreadsheet. */
    entriesCsv(filters = {}) {
        return this.http.call(ROUTES.listWalletEntries, { query: { ...filters, format: "csv" }, as: "text" });
    }
}
class Channels {
    http;
    constructor(http) {
        this.http = http;
    }
    /** With a phone, one of them may be `suggested`. */
    list(query = {}) {
        return this.http.call(ROUTES.listChannels, { query });
    }
}
class Recipients {
    http;
    constructor(http) {
        this.http = http;
    }
    /** Whose number it is, before money is sent. */
    lookUp(recipient) {
        return this.http.call(ROUTES.lookUpRecipient, { body: recipient });
    }
}
class Events {
    http;
    constructor(http) {
        this.http = http;
    }
    /**
     * One page of the feed, the oldest first. `after: "latest"` has no events, and a cursor at the end. `types` are the only
     * events to read, or "*" for every one: `batch.completed`, `link.…` and `settlement.…` come only then.
     */
    read(query = {}) {
        return this.http.call(ROUTES.listEvents, { query: { limit: PAGE, ...query }, waitSeconds: query.wait });
    }
    /** Page after page, for ever. Do the work of each, and store its `next` in the same transaction: nothing is lost. */
    async *follow({ after, types, pageSize: limit = PAGE } = {}) {
        for (let next = after;;) {
            const page = await this.read({ ...(next && { after: next }), ...(types && { types }), limit, wait: LONGEST_WAIT_SECONDS });
            next = page.next;
            if (page.events.length)
                yield page;
        }
    }
}
/** What comes in between moves the rest down by one, so a page may begin with what the last one had. */
async function* pages(read, limit = PAGE, isAfter) {
    let last;
    for (let page = 1;; page++) {
        const items = await read({ page, limit });
        for (const each of items) {
            if (last === undefined || isAfter(each, last))
                yield (last = each);
        }
        if (items.length < limit)
            return;
    }
}
