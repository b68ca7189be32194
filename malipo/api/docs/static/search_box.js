// The box in the bar: looks through the index of the pages as somebody types.
import { prepare, search, termsOf } from "./search.js";

const MOST = 8;

export function openSearch(box, list) {
  let index;
  let asked = 0;

  const load = async () => (index ??= prepare(await (await fetch("/docs/search.json")).json()));
  const links = () => [...list.querySelectorAll("a")];

  box.addEventListener("focus", load, { once: true });
  box.addEventListener("input", show);
  box.addEventListener("focus", () => box.value && show());
  box.addEventListener("keydown", (event) => {
    const all = links();
    const here = all.findIndex((each) => each.ariaSelected === "true");
    if (event.key === "ArrowDown") mark(all, Math.min(here + 1, all.length - 1));
    else if (event.key === "ArrowUp") mark(all, Math.max(here - 1, 0));
    else if (event.key === "Enter" && all.length) all[Math.max(here, 0)].click();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
    event.preventDefault();
    box.focus();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) close();
    else if (event.target.closest(".found a")) setTimeout(close);
  });

  async function show() {
    const question = box.value.trim();
    const turn = ++asked;
    if (!question) return close();
    const found = search(await load(), question).slice(0, MOST);
    if (turn !== asked) return;
    list.replaceChildren(...(found.length ? found.map((each, place) => line(each, place, question)) : [nothing()]));
    list.hidden = false;
    box.setAttribute("aria-expanded", "true");
    mark(links(), 0);
  }

  function close() {
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  function mark(all, place) {
    all.forEach((each, number) => (each.ariaSelected = String(number === place)));
    if (!all[place]) return;
    box.setAttribute("aria-activedescendant", all[place].id);
    all[place].scrollIntoView({ block: "nearest" });
  }
}

function line({ page, section }, place, question) {
  const link = document.createElement("a");
  link.id = `found-${place}`;
  link.setAttribute("role", "option");
  link.href = page.s[0] === section ? page.u : `${page.u}#${section.a}`;
  const title = document.createElement("b");
  title.textContent = page.s[0] === section ? page.t : section.h;
  link.append(title);
  if (page.s[0] !== section) {
    const of = document.createElement("span");
    of.className = "of";
    of.textContent = page.t;
    link.append(of);
  }
  const text = document.createElement("p");
  text.append(...excerpt(section.x, new Set(termsOf(question))));
  link.append(text);
  return link;
}

/** The words around the first that was asked for, and all of those marked. */
function excerpt(text, terms) {
  const words = text.split(" ");
  const fits = (word) => termsOf(word).some((term) => terms.has(term));
  const first = Math.max(words.findIndex(fits), 0);
  const shown = words.slice(Math.max(first - 8, 0), first + 24);
  return shown.flatMap((word) => {
    if (!fits(word)) return [`${word} `];
    const mark = document.createElement("mark");
    mark.textContent = word;
    return [mark, " "];
  });
}

function nothing() {
  const words = document.createElement("p");
  words.className = "none";
  words.textContent = document.documentElement.lang === "sw" ? "Hakuna kilichopatikana." : "Nothing was found.";
  return words;
}
