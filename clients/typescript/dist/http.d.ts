import type { Route } from "./routes.js";
import type { MalipoOptions } from "./types.js";
export interface Asked {
    /** What fills the braces of the path. */
    ids?: Record<string, string>;
    query?: object;
    body?: object;
    idempotencyKey?: string | undefined;
    language?: string | undefined;
    /** How long malipo was asked to hold the answer. */
    waitSeconds?: number | undefined;
    as?: "json" | "text";
}
export declare class Http {
    #private;
    constructor(options: MalipoOptions);
    call<Given>(route: Route, asked?: Asked): Promise<Given>;
}
