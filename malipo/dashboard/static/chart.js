// Reads a chart: a slider lies over its columns, so that a tap, a drag and the arrow keys show the figures of one of them.
// Without it there are the same figures in the table below.

function attach(graph) {
  if (graph.querySelector("output")) return;
  const part = graph.closest("[data-live]");
  if (part) part.asServed ??= part.innerHTML; // What a live page compares with, which is not what we make of it.
  const tips = JSON.parse(graph.dataset.tips);
  const over = made("div", "over");
  const mark = made("span", "mark");
  const slider = made("input");
  const output = made("output");
  Object.assign(slider, { type: "range", min: 0, max: tips.length - 1, step: 1, value: tips.length - 1 });
  slider.setAttribute("aria-label", graph.dataset.graph);
  slider.setAttribute("autocomplete", "off");
  mark.hidden = true;
  mark.style.width = `${100 / tips.length}%`;

  const show = (at) => {
    slider.value = at;
    mark.hidden = false;
    mark.style.left = `${(100 * at) / tips.length}%`;
    output.textContent = tips[at];
    slider.setAttribute("aria-valuetext", tips[at]);
  };
  // A slider takes its ends for half a thumb further in than a column is, so what counts is where the finger is.
  let pointed = null;
  const point = (event) => {
    const { left, width } = over.getBoundingClientRect();
    pointed = Math.min(tips.length - 1, Math.max(0, Math.floor((tips.length * (event.clientX - left)) / width)));
    show(pointed);
  };
  slider.addEventListener("pointerdown", point);
  slider.addEventListener("pointermove", point);
  slider.addEventListener("input", () => show(pointed ?? Number(slider.value)));
  slider.addEventListener("keydown", () => (pointed = null));
  slider.setAttribute("aria-valuetext", tips.at(-1));
  output.textContent = graph.dataset.hint;
  over.append(mark, slider);
  graph.querySelector(".plot").append(over);
  graph.append(output);
}

function made(name, className = "") {
  const element = document.createElement(name);
  element.className = className;
  return element;
}

const attachAll = () => document.querySelectorAll("[data-graph]").forEach(attach);
document.addEventListener("swapped", attachAll);
attachAll();
