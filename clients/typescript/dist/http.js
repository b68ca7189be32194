// Sends a request, and sends it again where that is safe.
import { ApiError, apiError, ConnectionFailed, IdempotencyKeyReused, MalipoError, OutcomeUnknown, RateLimited } from "./errors.js";
import { VERSION } from "./version.js";
import { webCrypto } from "./webcrypto.js";
/** A longer Retry-After is for the caller to wait for, such as that of a hold which takes hours. */
const LONGEST_WAIT_SECONDS = 60;
/** How long a call waits for its rate limit, in all. The window is a minute, so who waits gets through. */
const LONGEST_FOR_LIMIT_SECONDS = 61;
/** malipo says that nothing was done, so anything may be sent again. */
const NOTHING_WAS_DONE = ["unavailable", "restored", "on_hold", "rate_limited"];
export class Http {
    #apiKey;
    #baseUrl;
    #timeoutSeconds;
    #retries;
    #fetch;
    constructor(options) {
        this.#apiKey = options.apiKey ?? environment("MALIPO_API_KEY") ?? "";
        if (!this.#apiKey)
            throw new MalipoError("No API key: set MALIPO_API_KEY, or pass apiKey.");
        // No default: money would be asked for from whatever happens to listen there.
        this.#baseUrl = (options.baseUrl ?? environment("MALIPO_URL") ?? "").replace(/\/+$/, "");
        if (!this.#baseUrl)
            throw new MalipoError("No address: set MALIPO_URL, or pass baseUrl.");
        if (!/^https?:\/\//.test(this.#baseUrl))
            throw new MalipoError(`"${this.#baseUrl}" is no http or https address.`);
        this.#timeoutSeconds = options.timeoutSeconds ?? 30;
        this.#retries = options.retries ?? 3;
        this.#fetch = options.fetch ?? ((...request) => fetch(...request));
    }
    async call(route, asked = {}) {
        // Made once: every attempt of this call has the same one, so that all of them are one payment.
        const idempotencyKey = route.isKeyed ? (asked.idempotencyKey ?? (await webCrypto()).randomUUID()) : undefined;
        if (idempotencyKey !== undefined && !/^[!-~]{1,255}$/.test(idempotencyKey)) {
            throw new MalipoError("The idempotencyKey must be 1 to 255 visible ASCII characters.");
        }
        const request = this.#request(route, asked, idempotencyKey);
        let mayBeDone = false; // By a try whose answer was lost.
        let limits = 0;
        let waited = 0; // Seconds, for a rate limit.
        for (let attempt = 0;;) {
            try {
                return (await this.#attempt(route, asked, request, idempotencyKey));
            }
            catch (error) {
                let seconds;
                if (isRateLimit(error)) {
                    // It does not count as a retry. But who wants none is not kept waiting.
                    seconds = this.#retries ? secondsForLimit(error, limits++, LONGEST_FOR_LIMIT_SECONDS - waited) : undefined;
                    waited += seconds ?? 0;
                }
                else {
                    seconds = attempt < this.#retries ? secondsUntilRetry(route, error, attempt) : undefined;
                    attempt++;
                }
                if (seconds === undefined)
                    throw mayBeDone && route.method !== "GET" ? unknownAfter(error) : error;
                mayBeDone ||= leavesDoubt(error);
                await new Promise((done) => setTimeout(done, seconds * 1000));
            }
        }
    }
    #request(route, asked, idempotencyKey) {
        const path = route.path.replace(/\{(\w+)\}/g, (_, name) => idIn(asked.ids?.[name]));
        const headers = {
            "x-api-key": this.#apiKey,
            "user-agent": `malipo-client-typescript/${VERSION}`,
            ...(asked.language && { "accept-language": asked.language }),
            ...(asked.body && { "content-type": "application/json" }),
            ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
        };
        // A redirect is not followed: it would take the key, and the payment, to somebody else.
        const init = { method: route.method, headers, redirect: "manual" };
        return [
            this.#baseUrl + path + queryOf(asked.query),
            asked.body ? { ...init, body: JSON.stringify(asked.body) } : init,
        ];
    }
    async #attempt(route, asked, [url, init], key) {
        let response;
        let text;
        try {
            const timeout = this.#timeoutSeconds + (asked.waitSeconds ?? 0);
            response = await this.#fetch(url, { ...init, signal: AbortSignal.timeout(timeout * 1000) });
            text = await response.text();
        }
        catch (cause) {
            throw new ConnectionFailed(`no answer from ${this.#baseUrl}: ${reasonOf(cause)}`, { cause, idempotencyKey: key });
        }
        if (response.ok && asked.as === "text")
            return text;
        const answer = objectIn(text);
        if (!response.ok)
            throw errorIn(response, answer, key);
        const given = route.gives ? answer[route.gives] : answer;
        if (answer["success"] === true && given !== undefined)
            return route.isKeyed ? { ...given, ...replayIn(response, given) } : given;
        // Such as the log-in page of a hotel's network. Nobody knows whether malipo has heard anything.
        throw new ConnectionFailed(`what answers at ${this.#baseUrl} is not malipo`, { idempotencyKey: key });
    }
}
/** Others of 429 are limits of a day. */
function isRateLimit(error) {
    return error instanceof RateLimited && error.code === "rate_limited";
}
/** As long as malipo says, and up to seconds more, so that not all who wait come back at once. */
function secondsForLimit({ retryAfter = 0 }, limits, left) {
    return retryAfter < left ? Math.min(retryAfter + Math.random() * Math.min(8, 2 ** limits), left) : undefined;
}
/** How long to wait before it is sent again; undefined if it must not be. */
function secondsUntilRetry(route, error, attempt) {
    const isApiError = error instanceof ApiError;
    if (!isApiError && !(error instanceof ConnectionFailed))
        return undefined;
    if (isApiError && !NOTHING_WAS_DONE.includes(error.code)) {
        const mayPass = error.status === 408 || error.status === 429 || (error.status >= 500 && error.code !== "query_timeout");
        if (!mayPass || !route.isRepeatable)
            return undefined;
    }
    if (!isApiError && !route.isRepeatable)
        return undefined;
    // Not all at the same moment, if many wait for the same outage to end.
    const jitter = Math.random() * Math.min(8, 0.5 * 2 ** attempt);
    const told = isApiError ? error.retryAfter : undefined;
    if (told === undefined)
        return jitter;
    return told <= LONGEST_WAIT_SECONDS ? told + jitter / 4 : undefined;
}
/** Whether the try may have been done, although it failed. */
function leavesDoubt(error) {
    if (!(error instanceof ApiError))
        return true;
    return (error.status === 408 || error.status >= 500) && !NOTHING_WAS_DONE.includes(error.code);
}
/** An error that says that nothing was done speaks of its own try. After one whose answer was lost, nobody knows. */
function unknownAfter(error) {
    // A key that belongs to another request: then no try of this one was done.
    if (leavesDoubt(error) || !(error instanceof ApiError) || error instanceof IdempotencyKeyReused)
        return error;
    const { details, requestId, retryAfter, idempotencyKey } = error;
    return new OutcomeUnknown(`It may have been done: an earlier try had no answer. The last one: ${error.message}`, {
        status: 503,
        code: "outcome_unknown",
        details,
        requestId,
        retryAfter,
        idempotencyKey,
        cause: error,
    });
}
/** Whether the key was used before, and the status of now, which the first answer does not have. */
function replayIn({ headers }, given) {
    const isReplay = headers.get("idempotency-replayed") === "true";
    return { isReplay, currentStatus: (isReplay && headers.get("idempotency-replayed-status")) || given["status"] };
}
function errorIn(response, answer, idempotencyKey) {
    const retryAfter = Number(response.headers.get("retry-after") ?? NaN);
    const isText = typeof answer["error"] === "string";
    return apiError(isText ? answer["error"] : `HTTP ${response.status || "redirect"}`, {
        status: response.status,
        code: response.headers.get("x-error-code") ?? `http_${response.status}`,
        details: answer["details"],
        requestId: response.headers.get("x-request-id") ?? undefined,
        retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
        idempotencyKey,
    });
}
function objectIn(text) {
    try {
        const value = JSON.parse(text);
        return typeof value === "object" && value !== null ? value : {};
    }
    catch {
        return {};
    }
}
/** An id that is empty, or has a slash, would lead to another route. */
function idIn(id) {
    if (typeof id === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(id))
        return id;
    throw new MalipoError(`${JSON.stringify(id)} is no id.`);
}
function queryOf(query = {}) {
    const written = Object.entries(query)
        .filter(([, value]) => value !== undefined && value !== null)
        .map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]);
    return written.length ? `?${new URLSearchParams(written)}` : "";
}
function reasonOf(cause) {
    const { name, message, cause: below } = cause;
    return name === "TimeoutError" ? "it took too long" : below instanceof Error ? below.message : message;
}
function environment(name) {
    const { process } = globalThis;
    return process?.env?.[name] || undefined;
}
