// Keeps what changes on a page fresh, without reloading it: asks once a second while somebody looks, and draws only
// what has changed, so that a half-typed PIN stays where it is.
"use strict";

const EVERY_MS = 1000;

function follow(part) {
  async function look() {
    if (document.visibilityState === "visible") {
      try {
        const answer = await fetch(part.dataset.live, { headers: { Accept: "text/html" } });
        if (answer.ok) {
          const version = answer.headers.get("X-Version");
          if (version !== part.dataset.version) draw(await answer.text());
          part.dataset.version = version;
        }
        document.body.classList.remove("is-lost");
      } catch {
        document.body.classList.add("is-lost");
      }
    }
    setTimeout(look, EVERY_MS);
  }
  function draw(text) {
    const hadPin = part.querySelector("#pin");
    const focusWasHere = part.contains(document.activeElement);
    part.innerHTML = text;
    const pin = part.querySelector("#pin");
    // A prompt that has just come gets the keyboard, unless somebody is typing elsewhere.
    if (pin && !hadPin && (focusWasHere || document.activeElement === document.body)) pin.focus();
    tick();
  }
  look();
}

function tick() {
  for (const time of document.querySelectorAll("[data-until]")) {
    const until = Number(time.dataset.until);
    if (until) time.textContent = `${Math.max(0, Math.ceil((until - Date.now()) / 1000))} s`;
  }
  for (const clock of document.querySelectorAll("[data-clock]")) {
    clock.textContent = new Date().toLocaleTimeString("en-GB", { timeZone: "Africa/Dar_es_Salaam", hour: "2-digit", minute: "2-digit" });
  }
}

document.querySelectorAll("[data-live]").forEach(follow);
tick();
setInterval(tick, 250);
