// Does with the TypeScript client what it is told, a line at a time, and tells what came of it.
import { createInterface } from "node:readline";

const { Malipo, verifyWebhook } = await import(process.argv[2]);

async function done({ options, call, id, fields, take }) {
  if (call === "verifyWebhook") {
    const { body, headers, secret, ...rest } = fields;
    return verifyWebhook(Buffer.from(body, "base64"), headers, secret, rest);
  }
  const { timeout, ...others } = options;
  const client = new Malipo({ ...others, ...(timeout && { timeoutSeconds: timeout }) });
  const [namespace, method] = call.split(".");
  const given = [...(id ?? []), ...(Object.keys(fields).length ? [fields] : [])];
  const found = client[namespace][method](...given);
  if (typeof found[Symbol.asyncIterator] !== "function") return (await found) ?? null;
  const listed = [];
  for await (const each of found) if (listed.push(each) === take) break;
  return listed;
}

function told(error) {
  const kinds = [];
  for (let kind = error.constructor; kind.name; kind = Object.getPrototypeOf(kind)) kinds.push(kind.name);
  return { ...error, kinds, message: error.message, cause: error.cause?.constructor.name };
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await done(JSON.parse(line)).then((value) => ({ value }), (error) => ({ error: told(error) }));
  console.log(JSON.stringify(answer));
}
