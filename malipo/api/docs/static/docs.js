// Copy buttons, samples in tabs, search. Without scripts the pages show everything, one below the other.
import "/dashboard/static/copy.js"; // It copies what a button has in data-copy.
import { openSearch } from "./search_box.js";

const root = document.documentElement;
const isKiswahili = root.lang === "sw";
const words = isKiswahili ? { copy: "Nakili", done: "Imenakiliwa" } : { copy: "Copy", done: "Copied" };

// The reference was at /docs once, and then one long page: links from then lead to where a thing is now.
const place = location.hash.slice(1);
if (location.pathname === "/docs" && place && !document.getElementById(place)) {
  location.replace(`/docs/reference#${place}`);
} else if (location.pathname === "/docs/reference" && place.startsWith("code-")) {
  location.replace(`/docs/reference/error-codes#${place}`);
} else if (location.pathname === "/docs/reference" && place) {
  const link = document.getElementById(place)?.querySelector("li > a");
  if (link?.parentElement.id === place) location.replace(link.href);
}

// Where the contents are longer than the window, the page that is shown is in view.
const side = document.querySelector(".side");
const here = side.querySelector("[aria-current]");
if (here) side.scrollTop = here.offsetTop - side.offsetTop - side.clientHeight / 3;

for (const figure of document.querySelectorAll("figure.code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.dataset.copy = figure.querySelector("code").textContent;
  button.dataset.copied = words.done;
  button.append(document.createElement("span"));
  button.firstChild.textContent = words.copy;
  (figure.querySelector("figcaption") ?? figure).append(button);
}

// Tabs: one choice for all samples of all pages, which is remembered.
const groups = [...document.querySelectorAll(".tabs")].map(asTabs);
choose(remembered());

function asTabs(group, number) {
  const samples = [...group.querySelectorAll(".code")];
  const list = document.createElement("div");
  list.className = "tablist";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", isKiswahili ? "Lugha ya programu" : "Language of the sample");
  const tabs = samples.map((sample, place) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.setAttribute("role", "tab");
    tab.id = `tab-${number}-${place}`;
    sample.id = `sample-${number}-${place}`;
    tab.setAttribute("aria-controls", sample.id);
    sample.setAttribute("role", "tabpanel");
    sample.setAttribute("aria-labelledby", tab.id);
    tab.dataset.language = sample.dataset.language;
    tab.textContent = sample.querySelector("figcaption span").textContent;
    tab.addEventListener("click", () => chosenByHand(tab));
    list.append(tab);
    return tab;
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    chosenByHand(next);
    next.focus();
  });
  group.prepend(list);
  group.classList.add("is-one");
  return { tabs, samples };
}

function chosenByHand(tab) {
  const before = tab.getBoundingClientRect().top;
  try {
    localStorage.setItem("malipo-docs-language", tab.dataset.language);
  } catch {
    // Where nothing may be kept, the choice holds for this page.
  }
  choose(tab.dataset.language);
  scrollBy(0, tab.getBoundingClientRect().top - before); // Samples above have another height now.
}

function choose(language) {
  for (const { tabs, samples } of groups) {
    const wanted = tabs.findIndex((tab) => tab.dataset.language === language);
    const chosen = Math.max(wanted, 0);
    tabs.forEach((tab, place) => {
      tab.setAttribute("aria-selected", String(place === chosen));
      tab.tabIndex = place === chosen ? 0 : -1;
      samples[place].hidden = place !== chosen;
    });
  }
}

function remembered() {
  try {
    return localStorage.getItem("malipo-docs-language");
  } catch {
    return null;
  }
}

openSearch(document.getElementById("search"), document.getElementById("found"));
