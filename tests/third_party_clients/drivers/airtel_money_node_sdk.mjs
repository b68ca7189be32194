// airtel-money-node-sdk 1.0.0 for Airtel Money. Everything is read from the environment when it is loaded, the address too.
// Its one function asks for the payment under an id of its own and then polls until it knows, or has polled enough.
import { createRequire } from "node:module";
import { serve } from "./wording.mjs";

const require = createRequire(import.meta.url);

function load(url, keys, version) {
  Object.assign(process.env, {
    CLIENT_ID: keys.clientId,
    CLIENT_SECRET: keys.clientSecret,
    GRANT_TYPE: "client_credentials",
    AIRTEL_API_BASE_URL: `${url}${keys.basePath}`,
    COUNTRY: keys.country,
    CURRENCY: keys.currency,
    AIRTEL_API_VERSION: version,
    POOLING_TIMEOUT: "30000",
    DEFAULT_POLLING_INTERVAL_MS: "50",
    DEFAULT_MAX_RETRIES: "5",
  });
  const name = require.resolve("airtel-money-node-sdk");
  delete require.cache[name];
  return require(name);
}

function open(url, keys) {
  const pay = (version) => async ({ phone, amount }) => {
    const { initiateAirtelPayment } = load(url, keys, version);
    try {
      return ["paid", await initiateAirtelPayment(amount, phone.slice(3), "Invoice 12345")];
    } catch (error) {
      if (error.name !== "AxiosError" && error.name !== "Error") throw error;
      const isKnown = error.message.startsWith("Transaction failed");
      const word = error.response?.status === 401 ? "not let in" : isKnown ? "failed" : error.response ? "refused" : "unknown";
      return [word, error.message];
    }
  };
  return { pay: pay("1"), pay_v2: pay("2") };
}

await serve(open);
