// Keeps a page up to date while somebody looks at it. A page that nobody looks at asks for nothing.
import { refresh } from "./swap.js";

const LEAST_PAUSE = 2_000; // However much happens, a page is fetched no oftener.
const LONGEST_PAUSE = 300_000;
let source = null;
let pause = 5_000;
let due = null;
let last = 0;
let isFetching = false;

function listen() {
  if (source || document.hidden) return;
  source = new EventSource("/dashboard/live");
  source.addEventListener("open", () => {
    pause = 5_000;
    sign(true);
    soon(); // What happened since the page was drawn was told to nobody.
  });
  source.addEventListener("changed", soon);
  source.addEventListener("error", () => {
    sign(false);
    if (source?.readyState === EventSource.CLOSED) tryLater(); // Else the browser tries again by itself.
  });
}

function tryLater() {
  stop();
  setTimeout(listen, pause);
  pause = Math.min(pause * 2, LONGEST_PAUSE);
}

function stop() {
  source?.close();
  source = null;
  sign(false);
}

function soon() {
  due ??= setTimeout(fetchAnew, Math.max(0, last + LEAST_PAUSE - Date.now()));
}

async function fetchAnew() {
  last = Date.now();
  due = null;
  if (document.hidden) return;
  if (isFetching || document.querySelector('[data-live][aria-busy="true"]')) return soon(); // One at a time.
  isFetching = true;
  try {
    await refresh(location.href);
  } catch {
    tryLater(); // The page as it is stays; reloading it says what is the matter.
  }
  isFetching = false;
}

function sign(isOn) {
  for (const each of document.querySelectorAll("[data-live-sign]")) each.classList.toggle("is-on", isOn);
}

if (document.querySelector("[data-live]") && "EventSource" in window) {
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : listen()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", listen);
  listen();
}
