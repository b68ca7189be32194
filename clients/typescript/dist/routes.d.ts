export interface Route {
    readonly method: "GET" | "POST" | "PATCH" | "DELETE";
    readonly path: string;
    /** Which field of the answer is handed over. Without one, the whole answer. */
    readonly gives?: string;
    /** Whether it takes an Idempotency-Key. */
    readonly isKeyed?: boolean;
    /** Whether it may be sent again when nobody knows whether it was done: if a second time changes nothing. */
    readonly isRepeatable?: boolean;
}
export declare const ROUTES: {
    collect: Route;
    disburse: Route;
    refund: Route;
    getPayment: Route;
    getReceipt: Route;
    listPayments: Route;
    cancelPayment: Route;
    quote: Route;
    createBatch: Route;
    getBatch: Route;
    listBatches: Route;
    listBatchItems: Route;
    approveBatch: Route;
    cancelBatch: Route;
    createLink: Route;
    getLink: Route;
    listLinks: Route;
    cancelLink: Route;
    createSettlement: Route;
    getSettlement: Route;
    listSettlements: Route;
    cancelSettlement: Route;
    getSettlementReport: Route;
    getWallet: Route;
    listWalletEntries: Route;
    listChannels: Route;
    lookUpRecipient: Route;
    listEvents: Route;
    createWebhook: Route;
    getWebhook: Route;
    listWebhooks: Route;
    changeWebhook: {
        method: "PATCH";
        path: string;
        gives: string;
        isRepeatable: true;
    };
    deleteWebhook: {
        method: "DELETE";
        path: string;
    };
    testWebhook: Route;
    rotateSecret: Route;
    finishRotation: Route;
    listDeliveries: Route;
    getDelivery: Route;
    redeliver: Route;
    recover: Route;
};
