// Receives malipo's webhooks and marks orders as paid. Node.js 18 or newer and nothing else: copy it into your shop.
//
// WEBHOOK_SECRET=whsec_… node receiver.js     PORT (3000) and DB (shop.jsonl) may be set too. Two secrets while one is
// being rotated: WEBHOOK_SECRET=whsec_old…,whsec_new…     A proxy that speaks TLS belongs in front of it.
"use strict";
const { createHmac, timingSafeEqual } = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");

const SECRETS = (process.env.WEBHOOK_SECRET ?? "").split(",");
const PORT = Number(process.env.PORT ?? 3000);
const DB = process.env.DB ?? "shop.jsonl";
const LARGEST_BODY = 1024 * 1024;
const TOLERANCE_SECONDS = 5 * 60;

const written = (amount) => amount.toLocaleString("en");
const refusal = (status, sentence) => Object.assign(new Error(sentence), { status });

// The event's id, if both signatures are right. Only webhook-signature covers id and time, and so stops replays.
function verify(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": standard } = headers;
  const plain = headers["x-service-signature"];
  if (!id || !standard || !plain || !/^[0-9]{1,12}$/.test(timestamp ?? "")) {
    throw refusal(400, "a signature header is missing or malformed");
  }
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) {
    throw refusal(401, "the timestamp is too old or too new");
  }
  const goodPlain = SECRETS.map((secret) => createHmac("sha256", secret).update(body).digest("hex"));
  const goodStandard = SECRETS.map((secret) => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    return "v1," + createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  });
  // During a rotation each comes twice, made with the old secret and with the new one. One that fits is enough.
  if (!oneFits(standard.split(" "), goodStandard)) throw refusal(401, "webhook-signature is wrong");
  if (!oneFits([plain, headers["x-service-signature-next"] ?? ""], goodPlain)) {
    throw refusal(401, "X-Service-Signature is wrong");
  }
  return id;
}

// timingSafeEqual takes as long for a near miss as for a far one, so nobody can guess their way by the clock.
function oneFits(given, good) {
  const pairs = given.flatMap((one) => good.map((other) => [Buffer.from(one), Buffer.from(other)]));
  return pairs.some(([one, other]) => one.length === other.length && timingSafeEqual(one, other));
}

// Do what the event asks for, once.
function take(eventId, body) {
  let event, reference, amount, status, order;
  try {
    // Strict: a lenient decoder would put question marks where a byte is wrong.
    const told = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    event = told.event;
    if (!event.startsWith("payment.")) return `${event}: nothing to do`; // A payout is not a sale.
    ({ reference, amount, status } = told.transaction);
    order = String(told.transaction.metadata?.orderId ?? "-");
  } catch {
    throw refusal(400, "the body is no event");
  }
  if (!reference || !status || !Number.isInteger(amount)) throw refusal(400, "the body is no event");
  const outcome = events.has(eventId) ? "seen before" : settle(eventId, order, reference, amount, status);
  return `${event} ${reference} TZS ${written(amount)} order ${order}: ${outcome}`;
}

// What is slow, such as an e-mail, does not belong here: let something else look for orders that were paid.
function settle(event, order, reference, amount, status) {
  if (!["PENDING", "PROCESSING", undefined].includes(payments.get(reference))) {
    store({ event });
    return `${status} comes late`; // Events may overtake each other, but what is final stays.
  }
  // The amount is what the customer paid, before any fee: it must be what the order costs.
  const found = orders.get(order);
  const pays = status === "COMPLETED" && found?.amount === amount && !found.paidBy;
  store({ event, reference, status, pays: pays ? order : undefined });
  if (pays) return "marked paid";
  if (status !== "COMPLETED") return `is ${status}`;
  if (!found) return "PLEASE LOOK: no such order";
  return "PLEASE LOOK: " + (found.paidBy ? `paid already by ${found.paidBy}` : `it costs TZS ${written(found.amount)}`);
}

// The shop's memory is a file of lines, read at the start. An event's id and what it did are one line, so a crash leaves
// both or neither: half a line is none. In a shop with a database, make it one transaction. One process at a time.
const orders = new Map(); // id → { amount, paidBy }
const payments = new Map(); // reference → status
const events = new Set();
const file = fs.openSync(DB, "a");

function store(line) {
  fs.appendFileSync(file, `\n${JSON.stringify(line)}\n`); // The first \n ends what an earlier failure left half.
  fs.fsyncSync(file); // On the disk before anybody is told.
  remember(line);
}

function remember({ order, amount, event, reference, status, pays }) {
  if (order) orders.set(order, { amount });
  if (event) events.add(event);
  if (reference) payments.set(reference, status);
  if (pays) orders.get(pays).paidBy = reference;
}

function recall() {
  for (const line of fs.readFileSync(DB, "utf8").split("\n")) {
    try {
      remember(JSON.parse(line));
    } catch {} // Half a line: it was never answered with 200, so it comes again.
  }
  if (orders.size === 0) store({ order: "17", amount: 1000 }); // One to try it with.
}

async function receive(request, response) {
  const answer = (status, sentence) => response.writeHead(status).end(sentence + "\n");
  try {
    if (request.method !== "POST") throw refusal(405, "webhooks are posted");
    const parts = [];
    let size = 0;
    for await (const part of request) if ((size += part.length) <= LARGEST_BODY) parts.push(part);
    if (size > LARGEST_BODY) throw refusal(413, "the body is too large");
    const body = Buffer.concat(parts); // The bytes as they came: these were signed, not the JSON in them.
    const line = take(verify(request.headers, body), body);
    console.log(line);
    answer(200, line);
  } catch (error) {
    if (error.status) return answer(error.status, error.message);
    console.error(error); // Anything but 2xx, and malipo tries again later.
    answer(500, "not stored, please try again");
  }
}

if (!SECRETS.every((secret) => /^whsec_[A-Za-z0-9+/]{43}=$/.test(secret))) {
  console.error("Set WEBHOOK_SECRET to the whsec_… that was shown when the endpoint was registered.");
  process.exit(1);
}
recall();
http.createServer({ requestTimeout: 10_000 }, receive).listen(PORT, "127.0.0.1", () => {
  console.log(`receiving webhooks at http://127.0.0.1:${PORT}/`);
});
