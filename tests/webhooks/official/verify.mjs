// Verifies webhooks with the official Standard Webhooks library for JavaScript. Each line of the input is a JSON object
// with secret, headers and body (base64); each line of the output is "ok" or what the library complains of.
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body } = JSON.parse(line);
  try {
    new Webhook(secret).verify(Buffer.from(body, "base64").toString("utf8"), headers);
    console.log("ok");
  } catch (error) {
    console.log(`${error.name}: ${error.message}`.replaceAll("\n", " "));
  }
}
