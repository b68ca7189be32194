/** Everything that this client throws. */
export class MalipoError extends Error {
    constructor(message, options) {
        super(message, options);
        this.name = new.target.name;
    }
}
/** malipo answered, and said no. Decide by `code`; `message` is a sentence for people. */
export class ApiError extends MalipoError {
    /** The HTTP status. */
    status;
    /** As listed in docs/errors.md, such as `insufficient_balance`; `http_502` if a proxy answered in place of malipo. */
    code;
    /** Each bad field, with everything that is wrong with it. */
    details;
    /** Quote it when you ask for help. */
    requestId;
    /** Seconds to wait before the next attempt, if malipo said so. */
    retryAfter;
    /** What the request was sent with. Send it again with the same one, and nothing is paid twice. */
    idempotencyKey;
    constructor(message, told) {
        super(message, told.cause === undefined ? undefined : { cause: told.cause });
        this.status = told.status;
        this.code = told.code;
        this.details = told.details ?? {};
        this.requestId = told.requestId;
        this.retryAfter = told.retryAfter;
        this.idempotencyKey = told.idempotencyKey;
    }
}
/** 400, 405, 413: correct the request; `details` names every bad field. Nothing was done, and the key is still unused. */
export class InvalidRequest extends ApiError {
}
/** The wallet does not hold enough. */
export class InsufficientBalance extends InvalidRequest {
}
/** Begin the feed again without `after`. */
export class CursorExpired extends InvalidRequest {
}
/** malipo was restored from a backup. Look up the payments of the lost time, and go on from `goOn`. */
export class CursorLost extends InvalidRequest {
    get goOn() {
        return this.details["goOn"]?.[0];
    }
}
/** 401: the API key is missing, unknown, expired or revoked. */
export class AuthenticationFailed extends ApiError {
}
/** 403: the key lacks a permission, or the payout is above its limit. */
export class PermissionDenied extends ApiError {
}
/** 404: there is no such thing, or it is not yours. */
export class NotFound extends ApiError {
}
/** 409: it contradicts what already happened. */
export class Conflict extends ApiError {
}
/** The Idempotency-Key was used for another request. */
export class IdempotencyKeyReused extends Conflict {
}
/** 429: wait `retryAfter` seconds. */
export class RateLimited extends ApiError {
}
/** 408 and 5xx: not now. Send it again with the same `idempotencyKey`. */
export class Unavailable extends ApiError {
}
/** It may have been done. Send it again with the same `idempotencyKey`. Also when the answer to a try was lost and the next try
 * was refused: the refusal is its `cause`. */
export class OutcomeUnknown extends Unavailable {
}
/** No answer came. It may have been done: send it again with the same `idempotencyKey`. */
export class ConnectionFailed extends MalipoError {
    idempotencyKey;
    constructor(message, options) {
        super(message, options);
        this.idempotencyKey = options.idempotencyKey;
    }
}
/** The payment is still under way after the time that you gave it. */
export class NotEndedYet extends MalipoError {
    transaction;
    constructor(transaction) {
        super(`${transaction.reference} is still ${transaction.status}`);
        this.transaction = transaction;
    }
}
/** Do not believe this webhook. Answer it with `status`. */
export class InvalidWebhook extends MalipoError {
    /** 400 if it is malformed, 401 if the signature or the time is wrong. */
    status;
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}
const BY_CODE = {
    insufficient_balance: InsufficientBalance,
    cursor_expired: CursorExpired,
    cursor_lost: CursorLost,
    idempotency_key_reused: IdempotencyKeyReused,
    outcome_unknown: OutcomeUnknown,
};
const BY_STATUS = {
    401: AuthenticationFailed,
    403: PermissionDenied,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    429: RateLimited,
};
export function apiError(message, told) {
    const byHundred = told.status >= 500 ? Unavailable : told.status >= 400 ? InvalidRequest : ApiError;
    return new (BY_CODE[told.code] ?? BY_STATUS[told.status] ?? byHundred)(message, told);
}
