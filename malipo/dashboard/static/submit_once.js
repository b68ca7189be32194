// A form is submitted once, even if its button is pressed twice. For payments the server guarantees that itself.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  setTimeout(() => delete form.dataset.sent, 5_000); // On a bad line the answer may never come.
});

// Whoever comes back to the page may send it again.
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
