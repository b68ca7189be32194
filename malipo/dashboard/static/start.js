// What only some pages can do is fetched by those that have it.
if (document.querySelector("[data-live]")) import("./live.js");
if (document.querySelector("[data-search]")) import("./search.js");
if (document.querySelector("[data-graph]")) import("./chart.js");

// The tab that is open is in view, however narrow the screen, and also once the styles have given the tabs their widths.
for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  const row = tab.parentElement;
  const show = () => (row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2);
  const watch = new ResizeObserver(show);
  watch.observe(row);
  watch.observe(tab);
}

// The way back leads to the list as it was, with its filters, if that is where somebody comes from.
const way = document.querySelector(".back a");
if (way && document.referrer) {
  const from = new URL(document.referrer);
  if (from.origin === location.origin && from.pathname === way.pathname && !way.search) way.search = from.search;
}

document.addEventListener("click", (event) => event.target.closest("[data-print]") && print());

// "/" leads to the search of a page, as in the documentation.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea")) return;
  const search = document.querySelector("main input[type=search]");
  if (!search) return;
  event.preventDefault();
  search.focus();
});
