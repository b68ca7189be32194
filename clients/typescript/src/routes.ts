// Every route that takes an API key. The tests hold this table against the contract.

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

const read = (path: string, gives?: string): Route => ({ method: "GET", path, isRepeatable: true, ...(gives && { gives }) });
const pay = (path: string, gives: string): Route => ({ method: "POST", path, gives, isKeyed: true, isRepeatable: true });
const ask = (path: string, gives: string): Route => ({ method: "POST", path, gives, isRepeatable: true });
const act = (path: string, gives: string): Route => ({ method: "POST", path, gives });

const BATCHES = "/v1/payments/disburse/batches";
const WEBHOOKS = "/v1/webhooks";

export const ROUTES = {
  collect: pay("/v1/payments", "transaction"),
  disburse: pay("/v1/payments/disburse", "transaction"),
  refund: pay("/v1/payments/{id}/refund", "transaction"),
  getPayment: read("/v1/payments/{id}", "transaction"),
  getReceipt: read("/v1/payments/{id}/receipt", "receipt"),
  listPayments: read("/v1/payments"),
  cancelPayment: ask("/v1/payments/{id}/cancel", "transaction"),
  quote: ask("/v1/payments/quote", "quote"),

  createBatch: pay(BATCHES, "batch"),
  getBatch: read(`${BATCHES}/{id}`, "batch"),
  listBatches: read(BATCHES),
  listBatchItems: read(`${BATCHES}/{id}/items`),
  approveBatch: ask(`${BATCHES}/{id}/approve`, "batch"),
  cancelBatch: ask(`${BATCHES}/{id}/cancel`, "batch"),

  createLink: pay("/v1/links", "link"),
  getLink: read("/v1/links/{id}", "link"),
  listLinks: read("/v1/links"),
  cancelLink: ask("/v1/links/{id}/cancel", "link"),

  createSettlement: pay("/v1/settlements", "settlement"),
  getSettlement: read("/v1/settlements/{id}", "settlement"),
  listSettlements: read("/v1/settlements"),
  cancelSettlement: ask("/v1/settlements/{id}/cancel", "settlement"),
  getSettlementReport: read("/v1/settlements/{id}/report"),

  getWallet: read("/v1/wallet", "wallet"),
  listWalletEntries: read("/v1/wallet/entries"),
  listChannels: read("/v1/channels", "channels"),
  lookUpRecipient: ask("/v1/recipients/lookup", "recipient"),
  listEvents: read("/v1/events"),

  createWebhook: act(WEBHOOKS, "endpoint"),
  getWebhook: read(`${WEBHOOKS}/{id}`, "endpoint"),
  listWebhooks: read(WEBHOOKS, "endpoints"),
  changeWebhook: { method: "PATCH", path: `${WEBHOOKS}/{id}`, gives: "endpoint", isRepeatable: true },
  deleteWebhook: { method: "DELETE", path: `${WEBHOOKS}/{id}` },
  testWebhook: act(`${WEBHOOKS}/{id}/test`, "delivery"),
  rotateSecret: act(`${WEBHOOKS}/{id}/rotate-secret`, "endpoint"),
  finishRotation: act(`${WEBHOOKS}/{id}/rotate-secret/finish`, "endpoint"),
  listDeliveries: read(`${WEBHOOKS}/{id}/deliveries`),
  getDelivery: read(`${WEBHOOKS}/{id}/deliveries/{delivery}`, "delivery"),
  redeliver: ask(`${WEBHOOKS}/{id}/deliveries/{delivery}/redeliver`, "delivery"),
  recover: ask(`${WEBHOOKS}/{id}/recover`, "recovered"),
} satisfies Record<string, Route>;
