// Sends a request with the reader's own key to this service, and shows the answer. Nothing is kept.
const at = (id) => document.getElementById(id);
const form = document.querySelector(".try-form");
const TELLING = ["x-request-id", "x-error-code", "idempotency-replayed", "ratelimit-limit", "ratelimit-remaining", "retry-after", "content-type"];

at("operation").addEventListener("change", choose);
addEventListener("hashchange", fromAddress);
form.addEventListener("submit", send);
fromAddress();

function fromAddress() {
  const wanted = location.hash.slice(1);
  if ([...at("operation").options].some((each) => each.value === wanted)) at("operation").value = wanted;
  choose();
}

function choose() {
  const { dataset, value } = at("operation").selectedOptions[0];
  at("method").textContent = dataset.method;
  at("method").className = `method ${dataset.method.toLowerCase()}`;
  at("path").value = dataset.path;
  at("body").value = dataset.body;
  document.querySelector(".body").hidden = !dataset.body;
  const isIdempotent = "idempotent" in dataset;
  document.querySelector(".idempotent").hidden = !isIdempotent;
  at("idempotency").value = isIdempotent ? `try-${crypto.getRandomValues(new Uint32Array(2)).join("-")}` : "";
  at("more").href = `/docs/reference#${value}`;
}

async function send(event) {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true; // A second press would be a second request, perhaps a second payment.
  const headers = { "x-api-key": at("key").value.trim() };
  if (at("idempotency").value) headers["Idempotency-Key"] = at("idempotency").value;
  const hasBody = !document.querySelector(".body").hidden;
  if (hasBody) headers["content-type"] = "application/json";
  const asked = { method: at("method").textContent, headers, credentials: "omit", body: hasBody ? at("body").value : undefined };
  try {
    await show(await fetch(location.origin + at("path").value, asked));
  } catch {
    tell("No answer", "", "The service did not answer. Send it again with the same Idempotency-Key.");
  } finally {
    button.disabled = false;
  }
}

async function show(answer) {
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.includes("json");
  const headers = TELLING.filter((name) => answer.headers.has(name)).map((name) => `${name}: ${answer.headers.get(name)}`);
  tell(`${answer.status} ${answer.statusText}`, headers.join("\n"), isJson ? JSON.stringify(JSON.parse(text), null, 2) : text);
}

function tell(status, headers, body) {
  document.querySelector(".answer").hidden = false;
  at("status").textContent = status;
  at("headers").textContent = headers;
  at("answer").textContent = body;
  for (const button of document.querySelectorAll(".answer .copy")) {
    button.dataset.copy = button.closest("figure").querySelector("code").textContent;
  }
}
