import type { Http } from "./http.js";
import { ROUTES } from "./routes.js";
import type * as t from "./types.js";

/** Where you want to be told. The key needs `webhooks.manage`. To believe what arrives there: `verifyWebhook`. */
export class Webhooks {
  constructor(private readonly http: Http) {}

  /** The answer has the `secret`, only this once. */
  create(webhook: t.NewWebhook): Promise<t.Webhook> {
    return this.http.call(ROUTES.createWebhook, { body: webhook });
  }

  get(id: string): Promise<t.Webhook> {
    return this.http.call(ROUTES.getWebhook, { ids: { id } });
  }

  list(): Promise<t.Webhook[]> {
    return this.http.call(ROUTES.listWebhooks);
  }

  /** What is left out stays as it is. */
  change(id: string, change: t.WebhookChange): Promise<t.Webhook> {
    return this.http.call(ROUTES.changeWebhook, { ids: { id }, body: change });
  }

  async delete(id: string): Promise<void> {
    await this.http.call(ROUTES.deleteWebhook, { ids: { id } });
  }

  /** Sends a `webhook.test`, and gives what your server answered. */
  test(id: string): Promise<t.Delivery> {
    return this.http.call(ROUTES.testWebhook, { ids: { id } });
  }

  /** A new `secret`, only this once. For 24 hours both sign. */
  rotateSecret(id: string): Promise<t.Webhook> {
    return this.http.call(ROUTES.rotateSecret, { ids: { id } });
  }

  finishRotation(id: string): Promise<t.Webhook> {
    return this.http.call(ROUTES.finishRotation, { ids: { id } });
  }

  /** What was sent there and what was answered, the newest first. */
  async *deliveries(
    id: string,
    { pageSize: limit = 100, ...filters }: { state?: t.DeliveryState; pageSize?: number } = {},
  ): AsyncGenerator<t.Delivery, void, undefined> {
    for (let before: string | undefined; ; ) {
      const query = { ...filters, before, limit };
      const page = await this.http.call<{ deliveries: t.Delivery[]; next?: string }>(ROUTES.listDeliveries, { ids: { id }, query });
      yield* page.deliveries;
      before = page.next;
      if (before === undefined) return;
    }
  }

  delivery(id: string, delivery: string): Promise<t.Delivery> {
    return this.http.call(ROUTES.getDelivery, { ids: { id, delivery } });
  }

  /** Sends it once more, whatever became of it. */
  redeliver(id: string, delivery: string): Promise<t.Delivery> {
    return this.http.call(ROUTES.redeliver, { ids: { id, delivery } });
  }

  /** Sends everything since then that was not accepted. How many that is. */
  recover(id: string, since: { since: t.Moment }): Promise<number> {
    return this.http.call(ROUTES.recover, { ids: { id }, body: since });
  }
}
