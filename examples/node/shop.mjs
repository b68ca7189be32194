// A small shop with the client: an order is paid by phone, tried again after a failure, and refunded. Node.js 18 or newer.
//
// npm install https://pay.example.com/docs/downloads/malipo-client-0.5.0.tgz
// MALIPO_API_KEY=mlp_… MALIPO_URL=https://pay.example.com WEBHOOK_SECRET=whsec_… node shop.mjs
// PORT (3000), DB (orders.json) and CATCH_UP_SECONDS (60) may be set too. A proxy that speaks TLS, and your own log-in,
// belong in front of it. The API key needs payments.create, payments.read and events.read.
//
//     POST /orders             {"amount": 5000, "phone": "+255754000001", "channel": "MPESA"}   a new order, and its payment
//     POST /orders/ID/pay      {"phone": …, "channel": …} if they change                        the customer tries again
//     POST /orders/ID/refund   {"amount": 2000}, or {} for all that is left                     give money back
//     GET  /orders/ID                                                                           how far it is
//     POST /webhooks                                                                            malipo reports an event
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { ApiError, CursorExpired, CursorLost, InvalidWebhook, Malipo, OutcomeUnknown, verifyWebhook } from "malipo-client";

const malipo = new Malipo();
const DB = process.env.DB ?? "orders.json";
const CATCH_UP_SECONDS = Number(process.env.CATCH_UP_SECONDS ?? 60);
const IS_UNTOLD = ["NEW", "REFUSED"]; // No event has told of it. One stands above a refusal.
const IS_OPEN = [...IS_UNTOLD, "PENDING", "PROCESSING"];
const IS_OVER = ["FAILED", "CANCELLED", "REFUSED"];

// The shop's memory is one file, for one process. In a shop with a database these are tables.
const shop = existsSync(DB) ? JSON.parse(readFileSync(DB, "utf8")) : { orders: {}, events: {}, cursor: undefined };

function save() {
  writeFileSync(`${DB}.new`, JSON.stringify(shop));
  renameSync(`${DB}.new`, DB); // The old file or the new one, never half of it.
}

class NotNow extends Error {}

// An attempt is one payment of an order, and a refund is one payout of it: each has a number, and so a key of its own. The id is
// random: keys never expire, so a shop that begins anew must not use them again.
function order({ amount, phone, channel }) {
  const order = { id: randomUUID(), amount, attempts: [{ phone, channel, status: "NEW", refunded: 0 }], refunds: [] };
  shop.orders[order.id] = order;
  save(); // Before anything is sent: whatever happens then, we know what we have asked for.
  return sendAttempt(order);
}

// The customer tries again. Only when every attempt is over is there another one, with another key: to ask again while a payment
// is under way, or nobody knows whether there is one, may make the customer pay twice.
function pay(order, { phone, channel }) {
  const last = order.attempts.at(-1);
  if ([statusOf(order), ...order.attempts.map((each) => each.status)].every((each) => IS_OVER.includes(each))) {
    order.attempts.push({ phone: phone ?? last.phone, channel: channel ?? last.channel, status: "NEW", refunded: 0 });
    save();
  } else if (last.status !== "NEW") throw new NotNow(`The order is ${statusOf(order)}.`);
  return sendAttempt(order);
}

// However often this is sent, the customer is asked once: the key is that of the attempt.
async function sendAttempt(order) {
  const number = order.attempts.length;
  const attempt = order.attempts.at(-1);
  const key = `order-${order.id}-${number}`;
  const sends = countSend(attempt);
  try {
    const payment = await malipo.payments.collect({
      amount: order.amount,
      channel: attempt.channel,
      buyerPhone: attempt.phone,
      orderReference: order.id,
      metadata: { attempt: number },
      idempotencyKey: key,
    });
    attempt.payment = payment.id;
    if (IS_UNTOLD.includes(attempt.status)) attempt.status = "PENDING";
  } catch (error) {
    await takeRefusal(attempt, sends, key, error);
    throw error;
  } finally {
    save();
  }
  return shown(order);
}

// Counted before each send.
function countSend(row) {
  row.sends = (row.sends ?? 0) + 1;
  save();
  return row.sends;
}

// It is REFUSED only if malipo has no payment of it: the first send was refused, or malipo finds none by the key. The answer to
// an earlier send may have been lost, and a refusal of a later one says nothing of that payment. Whatever is not certain stays
// NEW: it is sent again with the same key, or an event tells what became of it.
async function takeRefusal(row, sends, key, error) {
  const refusal = error instanceof OutcomeUnknown ? error.cause : error;
  if (!(refusal instanceof ApiError) || refusal.status >= 500 || refusal.status === 429) return;
  if (sends > 1 || refusal !== error) {
    try {
      for await (const _ of malipo.payments.list({ idempotencyKey: key })) return;
    } catch {
      return; // It cannot be looked up now.
    }
  }
  if (row.status === "NEW" && row.sends === sends) Object.assign(row, { status: "REFUSED", failure: refusal.code });
}

// Two clicks are one refund: there is another one only when the last one has ended.
function refund(order, { amount }) {
  const last = order.refunds.at(-1);
  if (!last || ["COMPLETED", ...IS_OVER].includes(last.status)) {
    const attempt = order.attempts.findLastIndex((each) => isPaid(each) && each.refunded < each.amount);
    if (attempt < 0) throw new NotNow(`The order is ${statusOf(order)}.`);
    order.refunds.push({ attempt, status: "NEW", ...(amount !== undefined && { amount }) });
    save();
  }
  return sendRefund(order);
}

async function sendRefund(order) {
  const number = order.refunds.length;
  const refund = order.refunds.at(-1);
  const key = `refund-${order.id}-${number}`;
  const sends = countSend(refund);
  try {
    const payout = await malipo.payments.refund(order.attempts[refund.attempt].payment, {
      ...(refund.amount !== undefined && { amount: refund.amount }), // Without an amount: all that is left.
      orderReference: `${order.id}-${number}`,
      idempotencyKey: key,
    });
    Object.assign(refund, { payout: payout.id, status: IS_UNTOLD.includes(refund.status) ? "PENDING" : refund.status });
  } catch (error) {
    await takeRefusal(refund, sends, key, error);
    throw error;
  } finally {
    save();
  }
  return shown(order);
}

const isPaid = (attempt) => (attempt.outcome ?? attempt.status) === "COMPLETED";

// The status of an order, computed from all its payments: a failed one may still turn out to be paid.
function statusOf({ amount, attempts }) {
  const paid = attempts.filter(isPaid);
  const [received, refunded] = ["amount", "refunded"].map((name) => paid.reduce((sum, each) => sum + each[name], 0));
  if (paid.filter((each) => each.refunded < each.amount).length > 1) return "PAID_TWICE"; // Refund one of them.
  if (paid.some((each) => each.amount !== amount)) return "PLEASE_LOOK";
  if (paid.length) return received - refunded >= amount ? "PAID" : refunded === received ? "REFUNDED" : "PARTLY_REFUNDED";
  if (attempts.some((each) => each.status === "COMPLETED")) return "TAKEN_BACK"; // Reversed by its network: talk to the customer.
  return attempts.at(-1).status;
}

const orderOf = (id) => (Object.hasOwn(shop.orders, id) ? shop.orders[id] : undefined);
const shown = (order) => ({ ...order, status: statusOf(order) });

// An event, by webhook or from the feed. Its id and the work are saved together: a crash leaves both or neither.
function take({ id, event, transaction }) {
  if (shop.events[id]) return;
  shop.events[id] = true;
  if (event.startsWith("payment.")) takePayment(transaction);
  else if (transaction?.refundOf) takeRefund(transaction);
}

function takePayment(payment) {
  const attempt = orderOf(payment.orderReference)?.attempts[payment.metadata?.attempt - 1];
  if (!attempt) return; // No order of this shop.
  // Events overtake each other: no PENDING changes what is final, and of two corrections the later one counts.
  Object.assign(attempt, { payment: payment.id, amount: payment.amount });
  attempt.refunded = Math.max(attempt.refunded, payment.refundedAmount ?? 0);
  if (IS_OPEN.includes(attempt.status)) Object.assign(attempt, { status: payment.status, failure: payment.failureCode });
  const { outcome, correctedAt } = payment.correction ?? {};
  if (outcome && correctedAt > (attempt.correctedAt ?? "")) Object.assign(attempt, { outcome, correctedAt });
}

function takeRefund(payout) {
  const [, id, number] = /^(.+)-(\d+)$/.exec(payout.orderReference ?? "") ?? [];
  const refund = orderOf(id)?.refunds[number - 1];
  if (!refund) return;
  Object.assign(refund, { payout: payout.id, amount: payout.amount });
  // A failed refund that was paid after all has the outcome COMPLETED: do not send it again.
  if (payout.correction || IS_OPEN.includes(refund.status)) refund.status = payout.correction?.outcome ?? payout.status;
}

async function webhook(body, headers) {
  const told = await verifyWebhook(body, headers, process.env.WEBHOOK_SECRET ?? "");
  take(told);
  save();
  return { event: told.event };
}

// What no webhook has told, from the feed; and what was stored and never sent, with the same key.
async function catchUp() {
  for (let isMore = true; isMore; ) {
    const page = await newPage();
    page.events.forEach(take);
    shop.cursor = page.next;
    save();
    isMore = page.events.length === 100;
  }
  const complain = (error) => {
    if (!(error instanceof ApiError)) throw error;
    console.error("not sent:", error.message); // The others are sent all the same.
  };
  for (const order of Object.values(shop.orders)) {
    if (order.attempts.at(-1).status === "NEW") await sendAttempt(order).catch(complain);
    if (order.refunds.at(-1)?.status === "NEW") await sendRefund(order).catch(complain);
  }
}

async function newPage() {
  try {
    return await malipo.events.read({ ...(shop.cursor && { after: shop.cursor }), limit: 100 });
  } catch (error) {
    if (error instanceof CursorExpired) return malipo.events.read({ limit: 100 }); // From the oldest event that is kept.
    if (!(error instanceof CursorLost)) throw error;
    return malipo.events.read({ after: error.goOn, limit: 100 }); // The service was restored: look up the payments of that time too.
  }
}

async function catchUpForEver() {
  await catchUp().catch((error) => console.error("not caught up:", error.message)); // The next round tries again.
  setTimeout(catchUpForEver, CATCH_UP_SECONDS * 1000);
}

function answer({ method, url, headers }, body) {
  if (method === "POST" && url === "/webhooks") return webhook(body, headers);
  const asked = body.length ? JSON.parse(body) : {};
  if (method === "POST" && url === "/orders") return order(asked);
  const [, id, act] = /^\/orders\/([\w-]+)(?:\/(\w+))?$/.exec(url) ?? [];
  const found = orderOf(id);
  if (method === "GET") return found && !act ? shown(found) : undefined;
  return found && { pay, refund }[act]?.(found, asked);
}

createServer(async (request, response) => {
  const say = (status, told) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(told));
  try {
    const parts = [];
    for await (const part of request) parts.push(part);
    const found = await answer(request, Buffer.concat(parts));
    return found ? say(200, found) : say(404, { error: "no such order" });
  } catch (error) {
    if (error instanceof NotNow) return say(409, { error: error.message });
    if (error instanceof InvalidWebhook) return say(error.status, { error: error.message });
    if (error instanceof ApiError) return say(error.status, { error: error.message, details: error.details });
    console.error(error); // No answer: the attempt is kept, and sent again. A webhook comes again by itself.
    return say(503, { error: "please try again" });
  }
}).listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log("the shop is open");
  catchUpForEver();
});
