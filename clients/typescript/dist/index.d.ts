export { Malipo } from "./client.js";
export { ApiError, AuthenticationFailed, Conflict, ConnectionFailed, CursorExpired, CursorLost, IdempotencyKeyReused, InsufficientBalance, InvalidRequest, InvalidWebhook, MalipoError, NotEndedYet, NotFound, OutcomeUnknown, PermissionDenied, RateLimited, Unavailable, } from "./errors.js";
export type * from "./types.js";
export { VERSION } from "./version.js";
export { verifyWebhook } from "./webhooks.js";
