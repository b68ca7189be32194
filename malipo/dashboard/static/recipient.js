// While a payout is typed: shows whose number it is, as soon as number and network are filled in. It is a help only:
// without it, or without an answer, the form works as ever, and the next page says it.
const PAUSE = 500;
const NUMBER = /^(?:(?:\+|00)?255|0)?[67][0-9]{8}$/;

function attach(place, form) {
  const channels = place.dataset.channels.split(" ");
  let timer = null;
  let under = null;
  let asked = "";

  const run = async () => {
    const values = new URLSearchParams();
    for (const name of ["token", "phone", "channel", "name"]) values.set(name, form.elements[name]?.value ?? "");
    if (values.toString() === asked) return;
    asked = values.toString();
    under?.abort();
    const mine = (under = new AbortController());
    const number = values.get("phone").replace(/[\s().-]/g, "");
    // Without a chosen network the server takes that of the number.
    const channel = values.get("channel");
    if (!NUMBER.test(number) || (channel && !channels.includes(channel))) return place.replaceChildren();
    const found = await fetched(place.dataset.recipient, values, mine.signal);
    if (!mine.signal.aborted) place.replaceChildren(...found);
  };

  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(run, PAUSE);
  });
  run(); // Whoever comes back to the form has filled it in.
}

async function fetched(url, body, signal) {
  try {
    const response = await fetch(url, { method: "POST", body, credentials: "same-origin", signal });
    if (!response.ok || response.redirected) return [];
    return new DOMParser().parseFromString(await response.text(), "text/html").body.childNodes;
  } catch {
    return [];
  }
}

for (const place of document.querySelectorAll("[data-recipient]")) attach(place, place.closest("form"));
