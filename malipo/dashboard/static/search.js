// A form marked data-search answers as one types: it fetches what it would have led to, and takes over the results.
import { refresh } from "./swap.js";

const PAUSE = 250;

function urlOf(form) {
  const filled = [...new FormData(form)].filter(([, value]) => value !== "");
  const query = new URLSearchParams(filled).toString();
  return form.getAttribute("action") + (query ? `?${query}` : "");
}

function attach(form) {
  let timer = null;
  let under = null;
  const run = async () => {
    clearTimeout(timer);
    under?.abort();
    const mine = (under = new AbortController());
    const url = urlOf(form);
    busy(true);
    try {
      await refresh(url, mine.signal);
      history.replaceState(null, "", url);
    } catch {
      if (!mine.signal.aborted) form.submit(); // The plain way shows what is the matter.
    } finally {
      if (under === mine) busy(false);
    }
  };
  form.addEventListener("input", (event) => {
    if (event.isComposing) return;
    clearTimeout(timer);
    timer = setTimeout(run, PAUSE);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
}

function busy(isBusy) {
  for (const each of document.querySelectorAll("[data-live]")) each.setAttribute("aria-busy", String(isBusy));
}

document.querySelectorAll("form[data-search]").forEach(attach);
