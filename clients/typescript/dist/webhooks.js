// Verifies that malipo sent a webhook.
import { MalipoError, InvalidWebhook } from "./errors.js";
import { webCrypto } from "./webcrypto.js";
/**
 * The event in a webhook, if malipo signed it within the last five minutes; otherwise it throws {@link InvalidWebhook}.
 *
 * @param body The raw bytes (or the text) as they came, and not JSON that was parsed and written again.
 * @param headers Of a `Request`, of Node.js, Express, Fastify, …
 * @param secret The `whsec_…` of the endpoint. While it is being changed, both: a list, or with a comma between them.
 */
export async function verifyWebhook(body, headers, secret, { toleranceSeconds = 300 } = {}) {
    const keys = keysIn(secret);
    const id = headerIn(headers, "webhook-id");
    const timestamp = headerIn(headers, "webhook-timestamp");
    const signatures = headerIn(headers, "webhook-signature");
    if (!id || !signatures || !/^[0-9]{1,12}$/.test(timestamp)) {
        throw new InvalidWebhook(400, "a header of the webhook is missing or malformed");
    }
    if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds) {
        throw new InvalidWebhook(401, "the webhook is too old, or from the future");
    }
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
    if (!(await isSigned(joined(`${id}.${timestamp}.`, bytes), signatures, keys))) {
        throw new InvalidWebhook(401, "the webhook's signature is wrong");
    }
    return eventIn(id, bytes);
}
/** While the secret is being changed there are two signatures, and perhaps two secrets. One that fits is enough. */
async function isSigned(signed, signatures, keys) {
    const { subtle } = await webCrypto();
    const given = signatures.split(" ").flatMap((each) => /^v1,([A-Za-z0-9+/]{43}=)$/.exec(each)?.[1] ?? []);
    for (const key of keys) {
        const imported = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
        for (const signature of given) {
            if (await subtle.verify("HMAC", imported, bytesIn(signature), signed))
                return true; // In constant time.
        }
    }
    return false;
}
function eventIn(id, bytes) {
    try {
        const told = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
        const about = ["transaction", "batch", "link", "settlement"].find((each) => told[each] !== undefined) ?? "transaction";
        const { event, [about]: subject } = told;
        const texts = [event, about === "transaction" ? subject.reference : subject.id, subject.status];
        const amount = about === "link" ? subject.paidAmount : subject.amount;
        if (texts.every((each) => typeof each === "string" && each) && Number.isInteger(amount)) {
            return { id, event, [about]: subject };
        }
    }
    catch {
        // The error is thrown below.
    }
    throw new InvalidWebhook(400, "the webhook's body is no event");
}
function keysIn(secret) {
    const secrets = typeof secret === "string" ? secret.split(",") : secret;
    if (!secrets.length || !secrets.every((each) => /^whsec_[A-Za-z0-9+/]{43}=$/.test(each))) {
        throw new MalipoError("The secret must be the whsec_… that was shown when the endpoint was registered.");
    }
    return secrets.map((each) => bytesIn(each.slice("whsec_".length)));
}
function headerIn(headers, name) {
    if (typeof headers.get === "function")
        return headers.get(name) ?? "";
    const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
    return (Array.isArray(found) ? found[0] : found) ?? "";
}
function bytesIn(base64) {
    return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
}
function joined(text, bytes) {
    const before = new TextEncoder().encode(text);
    const all = new Uint8Array(before.length + bytes.length);
    all.set(before);
    all.set(bytes, before.length);
    return all;
}
