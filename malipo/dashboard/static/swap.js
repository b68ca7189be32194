// Fetches a page and takes over those parts of it that are marked data-live or data-follows, by their names.
// Focus, open details and scrolled tables stay as they are; what somebody types into is left alone.

const before = new WeakMap(); // what each part was last, as it was sent
let turn = 0;

export async function refresh(url, signal) {
  const mine = ++turn;
  const response = await fetch(url, { credentials: "same-origin", cache: "no-store", signal });
  if (!response.ok || response.redirected) throw new Error("not this page any more");
  const text = await response.text();
  // On a slow line answers overtake each other: only the one that was asked for last counts.
  if (mine === turn) swap(new DOMParser().parseFromString(text, "text/html"));
}

function swap(fresh) {
  for (const old of document.querySelectorAll("[data-live], [data-follows]")) {
    const part = fresh.querySelector(nameOf(old));
    if (!part || isSame(part.innerHTML, before.get(old) ?? old.asServed ?? old.innerHTML) || isTypedInto(old)) continue;
    replace(old, part);
  }
  document.title = fresh.title;
  document.dispatchEvent(new Event("swapped"));
}

// The token of a form is another text on each page.
const isSame = (one, other) => withoutTokens(one) === withoutTokens(other);
const withoutTokens = (html) => html.replace(/name="token" value="[^"]*"/g, "");

function nameOf({ dataset }) {
  return dataset.live ? `[data-live="${CSS.escape(dataset.live)}"]` : `[data-follows="${CSS.escape(dataset.follows)}"]`;
}

function replace(old, part) {
  const focused = old.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  const isOpen = [...old.querySelectorAll("details")].map((each) => each.open);
  const scrolled = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  const known = new Set([...old.querySelectorAll("tr[id]")].map((each) => each.id));
  before.set(old, part.innerHTML);
  old.className = part.className;
  // The element itself stays, so that those who listen hear what is new in it.
  old.replaceChildren(...part.childNodes);
  old.querySelectorAll("details").forEach((each, at) => (each.open = isOpen[at] ?? each.open));
  old.querySelectorAll(".scroll").forEach((each, at) => (each.scrollLeft = scrolled[at] ?? 0));
  if (known.size) old.querySelectorAll("tr[id]").forEach((each) => each.classList.toggle("is-new", !known.has(each.id)));
  if (focused) old.querySelector(focused)?.focus({ preventScroll: true });
}

function isTypedInto(part) {
  return part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
}

function keyOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  for (const name of ["href", "data-copy", "name", "aria-label"]) {
    const value = element.getAttribute(name);
    if (value) return `${element.localName}[${name}="${CSS.escape(value)}"]`;
  }
  return null;
}
