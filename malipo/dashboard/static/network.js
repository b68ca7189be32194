// Shows which network a typed number belongs to, beside the choice "By the number". The server decides the same.
const DIGITS = /^(?:(?:\+|00)?255|0)?([67][0-9]+)$/;

for (const place of document.querySelectorAll("[data-prefixes]")) {
  const prefixes = JSON.parse(place.dataset.prefixes);
  const phone = place.closest("form").elements.phone;
  const hint = place.querySelector('input[value=""] + span small');
  const before = hint.textContent;

  const show = () => {
    const digits = DIGITS.exec(phone.value.replace(/[\s().-]/g, ""))?.[1] ?? "";
    const [channel] = Object.entries(prefixes).find(([, known]) => known.some((each) => digits.startsWith(each))) ?? [];
    const label = channel && place.querySelector(`input[value="${channel}"] + span`);
    hint.textContent = label ? label.textContent.trim() : before;
    hint.classList.toggle("is-known", Boolean(label));
  };
  phone.addEventListener("input", show);
  show();
}
