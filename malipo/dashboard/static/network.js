// Shows which network a typed number belongs to, beside the choice "By the number". The server decides the same.
// A network that was chosen for one number is not kept for a number of another network.
const DIGITS = /^(?:(?:\+|00)?255|0)?([67][0-9]+)$/;

for (const place of document.querySelectorAll("[data-prefixes]")) {
  const prefixes = JSON.parse(place.dataset.prefixes);
  const { phone, chosenFor } = place.closest("form").elements;
  const byNumber = place.querySelector('input[value=""]');
  const hint = byNumber.nextElementSibling.querySelector("small");
  const before = hint.textContent;
  const said = place.querySelector("[data-network]"); // what is chosen, while the choices are folded
  const nameOf = (input) => input.nextElementSibling.firstChild.textContent.trim();
  let usual = null; // of the number that the network was chosen for

  const digitsOf = (typed) => DIGITS.exec(typed.replace(/[\s().-]/g, ""))?.[1] ?? "";
  const usualOf = (digits) =>
    Object.keys(prefixes).find((channel) => prefixes[channel].some((each) => digits.startsWith(each)));

  // Of a number that is being typed only its first two digits are known.
  const groupOf = (digits) => (digits.length < 2 ? null : (usualOf(digits) ?? digits.slice(0, 2)));

  const show = () => {
    const digits = digitsOf(phone.value);
    const channel = usualOf(digits);
    const label = channel && place.querySelector(`input[value="${channel}"] + span`);
    hint.textContent = label ? label.textContent.trim() : before;
    hint.classList.toggle("is-known", Boolean(label));
    const now = groupOf(digits);
    if (now && usual && now !== usual) byNumber.checked = true;
    const chosen = place.querySelector("input:checked");
    said.textContent = chosen && chosen !== byNumber ? nameOf(chosen) : label ? label.textContent.trim() : nameOf(byNumber);
    usual = now ?? usual;
  };
  phone.addEventListener("input", show);
  place.addEventListener("change", () => {
    chosenFor.value = phone.value;
    show();
  });
  usual = groupOf(digitsOf(chosenFor.value));
  show();
}
