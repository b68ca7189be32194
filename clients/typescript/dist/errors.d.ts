import type { Transaction } from "./types.js";
/** Everything that this client throws. */
export declare class MalipoError extends Error {
    constructor(message: string, options?: {
        cause?: unknown;
    });
}
/** malipo answered, and said no. Decide by `code`; `message` is a sentence for people. */
export declare class ApiError extends MalipoError {
    /** The HTTP status. */
    readonly status: number;
    /** As listed in docs/errors.md, such as `insufficient_balance`; `http_502` if a proxy answered in place of malipo. */
    readonly code: string;
    /** Each bad field, with everything that is wrong with it. */
    readonly details: Readonly<Record<string, readonly string[]>>;
    /** Quote it when you ask for help. */
    readonly requestId: string | undefined;
    /** Seconds to wait before the next attempt, if malipo said so. */
    readonly retryAfter: number | undefined;
    /** What the request was sent with. Send it again with the same one, and nothing is paid twice. */
    readonly idempotencyKey: string | undefined;
    constructor(message: string, told: ToldOfError);
}
export interface ToldOfError {
    status: number;
    code: string;
    details?: Readonly<Record<string, readonly string[]>> | undefined;
    requestId?: string | undefined;
    retryAfter?: number | undefined;
    idempotencyKey?: string | undefined;
    cause?: unknown;
}
/** 400, 405, 413: correct the request; `details` names every bad field. Nothing was done, and the key is still unused. */
export declare class InvalidRequest extends ApiError {
}
/** The wallet does not hold enough. */
export declare class InsufficientBalance extends InvalidRequest {
}
/** Begin the feed again without `after`. */
export declare class CursorExpired extends InvalidRequest {
}
/** malipo was restored from a backup. Look up the payments of the lost time, and go on from `goOn`. */
export declare class CursorLost extends InvalidRequest {
    get goOn(): string | undefined;
}
/** 401: the API key is missing, unknown, expired or revoked. */
export declare class AuthenticationFailed extends ApiError {
}
/** 403: the key lacks a permission, or the payout is above its limit. */
export declare class PermissionDenied extends ApiError {
}
/** 404: there is no such thing, or it is not yours. */
export declare class NotFound extends ApiError {
}
/** 409: it contradicts what already happened. */
export declare class Conflict extends ApiError {
}
/** The Idempotency-Key was used for another request. */
export declare class IdempotencyKeyReused extends Conflict {
}
/** 429: wait `retryAfter` seconds. */
export declare class RateLimited extends ApiError {
}
/** 408 and 5xx: not now. Send it again with the same `idempotencyKey`. */
export declare class Unavailable extends ApiError {
}
/** It may have been done. Send it again with the same `idempotencyKey`. Also when the answer to a try was lost and the next try
 * was refused: the refusal is its `cause`. */
export declare class OutcomeUnknown extends Unavailable {
}
/** No answer came. It may have been done: send it again with the same `idempotencyKey`. */
export declare class ConnectionFailed extends MalipoError {
    readonly idempotencyKey: string | undefined;
    constructor(message: string, options: {
        cause?: unknown;
        idempotencyKey?: string | undefined;
    });
}
/** The payment is still under way after the time that you gave it. */
export declare class NotEndedYet extends MalipoError {
    readonly transaction: Transaction;
    constructor(transaction: Transaction);
}
/** Do not believe this webhook. Answer it with `status`. */
export declare class InvalidWebhook extends MalipoError {
    /** 400 if it is malformed, 401 if the signature or the time is wrong. */
    readonly status: 400 | 401;
    constructor(status: 400 | 401, message: string);
}
export declare function apiError(message: string, told: ToldOfError): ApiError;
