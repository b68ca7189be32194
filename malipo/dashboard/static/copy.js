// Buttons that copy a text. Without scripts they are not shown.
document.documentElement.classList.add("scripted");

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button || !(await copied(button.dataset.copy, button))) return;
  const words = button.querySelector("span");
  const before = (button.dataset.before ??= words.textContent);
  words.textContent = button.dataset.copied;
  button.classList.add("is-done");
  clearTimeout(button.timer);
  button.timer = setTimeout(() => {
    words.textContent = before;
    button.classList.remove("is-done");
  }, 2_000);
});

async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedTheOldWay(text, button); // Over plain HTTP browsers have no other.
  }
}

function copiedTheOldWay(text, button) {
  const area = document.createElement("textarea");
  area.className = "unseen";
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  button.focus();
  return isDone;
}
