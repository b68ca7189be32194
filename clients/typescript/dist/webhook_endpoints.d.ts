import type { Http } from "./http.js";
import type * as t from "./types.js";
/** Where you want to be told. The key needs `webhooks.manage`. To believe what arrives there: `verifyWebhook`. */
export declare class Webhooks {
    private readonly http;
    constructor(http: Http);
    /** The answer has the `secret`, only this once. */
    create(webhook: t.NewWebhook): Promise<t.Webhook>;
    get(id: string): Promise<t.Webhook>;
    list(): Promise<t.Webhook[]>;
    /** What is left out stays as it is. */
    change(id: string, change: t.WebhookChange): Promise<t.Webhook>;
    delete(id: string): Promise<void>;
    /** Sends a `webhook.test`, and gives what your server answered. */
    test(id: string): Promise<t.Delivery>;
    /** A new `secret`, only this once. For 24 hours both sign. */
    rotateSecret(id: string): Promise<t.Webhook>;
    finishRotation(id: string): Promise<t.Webhook>;
    /** What was sent there and what was answered, the newest first. */
    deliveries(id: string, { pageSize: limit, ...filters }?: {
        state?: t.DeliveryState;
        pageSize?: number;
    }): AsyncGenerator<t.Delivery, void, undefined>;
    delivery(id: string, delivery: string): Promise<t.Delivery>;
    /** Sends it once more, whatever became of it. */
    redeliver(id: string, delivery: string): Promise<t.Delivery>;
    /** Sends everything since then that was not accepted. How many that is. */
    recover(id: string, since: {
        since: t.Moment;
    }): Promise<number>;
}
