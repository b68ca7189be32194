// The loop in which a driver for JavaScript is asked, as wording.py has it for Python.
import { createInterface } from "node:readline";

export async function serve(open) {
  // Some libraries print.
  console.log = console.error;
  console.warn = console.error;
  for await (const line of createInterface({ input: process.stdin })) {
    const { url, credentials, do: name, fields } = JSON.parse(line);
    let understood;
    try {
      understood = await open(url, credentials)[name](fields);
    } catch (error) {
      understood = ["broke", `${error.name}: ${error.message}`];
    }
    process.stdout.write(`${JSON.stringify(understood)}\n`);
  }
}
