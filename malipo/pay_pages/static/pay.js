// Without it everything works too. It suggests the network, and follows the payment. Pressing twice is one payment anyway.
const page = document.querySelector("main");
const form = document.querySelector("form[data-nets]");
if (form) {
  const nets = JSON.parse(form.dataset.nets);
  const hint = form.querySelector("[data-by]");
  const suggest = () => {
    const digits = form.buyerPhone.value.replace(/\D/g, "").replace(/^(00)?255/, "").replace(/^0/, "");
    const found = nets.find(([, prefixes]) => prefixes.includes(digits.slice(0, 2)));
    hint.textContent = digits.length > 1 && found ? `: ${found[0]}` : "";
  };
  form.buyerPhone.addEventListener("input", suggest);
  suggest();
}
// A page that comes back from the browser's memory is old.
addEventListener("pageshow", (event) => event.persisted && page.dataset.live && location.reload());
if (page.dataset.live) {
  const lost = document.querySelector("[data-lost]");
  let stop = new AbortController();
  const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
  const follow = async () => {
    for (;;) {
      let seconds = 3;
      stop = new AbortController();
      // A line that breaks may leave an answer on its way for ever.
      const patience = setTimeout(() => stop.abort(), 30000);
      try {
        const answer = await fetch(page.dataset.state, { cache: "no-store", signal: stop.signal });
        lost.hidden = true;
        // The cookie is gone: the page shows the form again, and asks no more.
        if (answer.status === 404) return location.reload();
        if (answer.ok) {
          if ((await answer.text()) !== page.dataset.live) return location.reload();
          seconds = +answer.headers.get("Retry-After") || 0.5;
        }
      } catch (error) {
        lost.hidden = error.name === "AbortError" && navigator.onLine;
      }
      clearTimeout(patience);
      await pause(seconds);
    }
  };
  for (const each of ["online", "offline"]) addEventListener(each, () => stop.abort());
  follow();
  if (page.dataset.until) setTimeout(() => location.reload(), page.dataset.until * 1000);
}
