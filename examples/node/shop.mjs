// A small shop with the client: a customer orders, pays by mobile money, and can have the money back. Node.js 18 or newer.
//
// npm install https://pay.example.com/docs/downloads/malipo-client-0.4.0.tgz
// MALIPO_API_KEY=mlp_… MALIPO_URL=https://pay.example.com WEBHOOK_SECRET=whsec_… node shop.mjs
// PORT (3000) and DB (orders.json) may be set too. A proxy that speaks TLS, and your own log-in, belong in front of it.
//
//     POST /orders           {"amount": 5000, "phone": "+255754000001", "channel": "MPESA"}   a new order, and its payment
//     GET  /orders/ID                                                                         how far it is
//     POST /orders/ID/pay                                                                     again, if it is still NEW
//     POST /orders/ID/refund                                                                  give the money back
//     POST /webhooks                                                                          what malipo tells us
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { ApiError, InvalidWebhook, Malipo, verifyWebhook } from "malipo-client";

const malipo = new Malipo();
const DB = process.env.DB ?? "orders.json";

// The shop's memory is one file, for one process. In a shop with a database it is a table.
const orders = new Map(existsSync(DB) ? JSON.parse(readFileSync(DB, "utf8")) : []);

function store(order, change) {
  orders.set(order.id, Object.assign(order, change));
  writeFileSync(`${DB}.new`, JSON.stringify([...orders]));
  renameSync(`${DB}.new`, DB); // The old file or the new one, never half of it.
  return order;
}

// It is stored before anything is sent: whatever happens then, we know what we have asked for.
function order({ amount, phone, channel }) {
  return pay(store({ id: randomUUID(), amount, phone, channel, status: "NEW" }));
}

// The key is made from the order, so however often this is sent, the customer is asked once. An id that is random is not
// used again by a shop that begins anew: keys never expire.
async function pay(order) {
  const { id, amount, channel, phone: buyerPhone } = order;
  const key = `order-${id}`;
  return settle(order, await malipo.payments.collect({ amount, channel, buyerPhone, orderReference: id, idempotencyKey: key }));
}

async function refund(order) {
  const refund = await malipo.payments.refund(order.payment, { reason: "Returned", idempotencyKey: `refund-${order.id}` });
  return store(order, { refund: refund.id });
}

// Events come twice, and overtake each other: what is final stays. Only the whole amount pays an order.
function settle(order, { id, status, amount }) {
  if (!["NEW", "PENDING", "PROCESSING"].includes(order.status)) return order;
  return store(order, { payment: id, status: status === "COMPLETED" && amount !== order.amount ? "PLEASE LOOK" : status });
}

async function webhook(body, headers) {
  const { event, transaction } = await verifyWebhook(body, headers, process.env.WEBHOOK_SECRET ?? "");
  const order = orders.get(transaction.orderReference);
  if (order && event.startsWith("payment.")) settle(order, transaction); // A payout is not a sale.
  return { event };
}

function answer(request, body) {
  if (request.method === "POST" && request.url === "/webhooks") return webhook(body, request.headers);
  if (request.method === "POST" && request.url === "/orders") return order(JSON.parse(body));
  const [, id, act] = /^\/orders\/([\w-]+)(?:\/(\w+))?$/.exec(request.url) ?? [];
  const found = orders.get(id);
  if (request.method === "GET") return act ? undefined : found;
  return found && { pay, refund }[act]?.(found);
}

createServer(async (request, response) => {
  const say = (status, told) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(told));
  try {
    const parts = [];
    for await (const part of request) parts.push(part);
    const found = await answer(request, Buffer.concat(parts));
    return found ? say(200, found) : say(404, { error: "no such order" });
  } catch (error) {
    if (error instanceof InvalidWebhook) return say(error.status, { error: error.message });
    if (error instanceof ApiError) return say(error.status, { error: error.message, details: error.details });
    console.error(error); // No answer: the order is kept, and can be sent again. A webhook comes again by itself.
    return say(503, { error: "please try again" });
  }
}).listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("the shop is open"));
