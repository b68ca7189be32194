// @openpesa/pesa-js 0.0.11 for M-Pesa. Its address is the property baseURL, which TypeScript would call private.
import { Pesa } from "@openpesa/pesa-js";
import { serve } from "./wording.mjs";

const PAYMENTS = { "INS-0": "accepted", "INS-10": "duplicate", "INS-989": "not let in" };
const STATUSES = { Completed: "paid", Pending: "pending" };

function paid(body) {
  if ("output_error" in body) return ["not let in", body];
  return [PAYMENTS[body.output_ResponseCode] ?? "refused", body];
}

function found(body) {
  if (body.output_ResponseCode === "INS-23") return ["not found", body];
  if (body.output_ResponseCode !== "INS-0") return ["refused", body];
  return [STATUSES[body.output_ResponseTransactionStatus] ?? "failed", body];
}

function open(url, keys) {
  const pesa = new Pesa({ api_key: keys.apiKey, public_key: keys.publicKey });
  pesa.baseURL = `${url}${keys.basePath.split("ipg/")[0]}`;
  const payment = ({ phone, amount, reference }) => ({
    input_Amount: amount,
    input_Country: "TZN",
    input_Currency: "TZS",
    input_CustomerMSISDN: phone,
    input_ServiceProviderCode: keys.serviceProviderCode,
    input_ThirdPartyConversationID: reference,
    input_TransactionReference: reference.slice(0, 20),
  });
  // What was answered at all is not an error; what was not is a bare one.
  const asked = async (ask, read) => {
    try {
      return read(await ask());
    } catch (error) {
      return ["unknown", error.message];
    }
  };
  const query = ({ reference }) =>
    asked(
      () =>
        pesa.query({
          input_QueryReference: reference,
          input_ServiceProviderCode: keys.serviceProviderCode,
          input_ThirdPartyConversationID: `q${reference}`,
          input_Country: "TZN",
        }),
      found,
    );
  return {
    collect: (fields) =>
      asked(() => pesa.c2b({ ...payment(fields), input_PurchasedItemsDesc: "Handbag Black" }), paid),
    disburse: (fields) =>
      asked(() => pesa.b2c({ ...payment(fields), input_PurchasedItemsDesc: "Salary payment" }), paid),
    query,
    query_payout: query,
  };
}

await serve(open);
