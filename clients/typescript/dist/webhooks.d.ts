import type { MalipoEvent } from "./types.js";
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;
/**
 * The event in a webhook, if malipo signed it within the last five minutes; otherwise it throws {@link InvalidWebhook}.
 *
 * @param body The raw bytes (or the text) as they came, and not JSON that was parsed and written again.
 * @param headers Of a `Request`, of Node.js, Express, Fastify, …
 * @param secret The `whsec_…` of the endpoint. While it is being changed, both: a list, or with a comma between them.
 */
export declare function verifyWebhook(body: string | Uint8Array | ArrayBuffer, headers: WebhookHeaders, secret: string | readonly string[], { toleranceSeconds }?: {
    toleranceSeconds?: number;
}): Promise<MalipoEvent>;
