import { ROUTES } from "./routes.js";
/** Where you want to be told. The key needs `webhooks.manage`. To believe what arrives there: `verifyWebhook`. */
export class Webhooks {
    http;
    constructor(http) {
        this.http = http;
    }
    /** The answer has the `secret`, only this once. */
    create(webhook) {
        return this.http.call(ROUTES.createWebhook, { body: webhook });
    }
    get(id) {
        return this.http.call(ROUTES.getWebhook, { ids: { id } });
    }
    list() {
        return this.http.call(ROUTES.listWebhooks);
    }
    /** What is left out stays as it is. */
    change(id, change) {
        return this.http.call(ROUTES.changeWebhook, { ids: { id }, body: change });
    }
    async delete(id) {
        await this.http.call(ROUTES.deleteWebhook, { ids: { id } });
    }
    /** Sends a `webhook.test`, and gives what your server answered. */
    test(id) {
        return this.http.call(ROUTES.testWebhook, { ids: { id } });
    }
    /** A new `secret`, only this once. For 24 hours both sign. */
    rotateSecret(id) {
        return this.http.call(ROUTES.rotateSecret, { ids: { id } });
    }
    finishRotation(id) {
        return this.http.call(ROUTES.finishRotation, { ids: { id } });
    }
    /** What was sent there and what was answered, the newest first. */
    async *deliveries(id, { pageSize: limit = 100, ...filters } = {}) {
        for (let before;;) {
            const query = { ...filters, before, limit };
            const page = await this.http.call(ROUTES.listDeliveries, { ids: { id }, query });
            yield* page.deliveries;
            before = page.next;
            if (before === undefined)
                return;
        }
    }
    delivery(id, delivery) {
        return this.http.call(ROUTES.getDelivery, { ids: { id, delivery } });
    }
    /** Sends it once more, whatever became of it. */
    redeliver(id, delivery) {
        return this.http.call(ROUTES.redeliver, { ids: { id, delivery } });
    }
    /** Sends everything since then that was not accepted. How many that is. */
    recover(id, since) {
        return this.http.call(ROUTES.recover, { ids: { id }, body: since });
    }
}
