// The ranking of the search: which pages fit a question best. Pure; tests/api/docs runs it with Node.
//
// A page is scored by its words for people who search (`k`), its title, and its best sections, each term by how rare it is
// (BM25, with the fields weighted). A term that no page has fits words that begin with it, for who is still
// typing. A name in code (`c`), typed whole, leads to its page. Pages that are looked things up in count less than those that explain (`w`).

const STOP = new Set(
  ("a about an and any are as at be been but by can could d did didn do does don ever for from get gets give had happen happens has have " +
    "he how i if in into is it its just ll m make may me much my need not of on one or our out re s says she should so some somebody " +
    "someone sure t than that the their them then there they this to use ve was we what when where which while who whom why will " +
    "with without would you your")
    .split(" ")
    .map(stem),
);
// What people say → what the pages say.
const ALSO = {
  sdk: ["client", "library"],
  sandbox: ["simulator", "trying"],
  fake: ["simulator", "signature"],
  timed: ["timeout"],
  double: ["twice"],
  duplicate: ["twice", "deduplicate"],
  bulk: ["batch"],
  mass: ["batch"],
  salary: ["batch"],
  payroll: ["batch"],
  ipn: ["webhook"],
  notification: ["webhook"],
  notify: ["webhook"],
  authenticity: ["signature"],
  genuine: ["signature"],
  forge: ["signature"],
  hacked: ["stolen"],
  disburse: ["payout"],
  withdraw: ["payout", "settlement"],
  charge: ["collection"],
  reverse: ["refund", "correction"],
  throttle: ["rate"],
  quota: ["rate"],
  reconcile: ["reconciliation", "statement"],
  reconciliation: ["statement"],
  accountant: ["statement", "reconciliation"],
  swahili: ["kiswahili"],
  cost: ["fee"],
  price: ["fee"],
  commission: ["fee"],
  swagger: ["openapi"],
  "2fa": ["two-step", "second"],
  developer: ["client"],
  // What a network was called before, is called now, and by whom it is run.
  mixx: ["tigo", "tigo_pesa"],
  yas: ["tigo", "tigo_pesa"],
  vodacom: ["m-pesa", "mpesa"],
  voda: ["m-pesa", "mpesa"],
  halotel: ["halopesa"],
};
const WEIGHTS = { words: 3.2, title: 4, heading: 3, text: 1 };
const SATURATION = 1.2;
const EVENNESS = 0.6;
const TITLED = 2;
const NAMED = 100; // A page whose name in code was typed comes before all others.

/** Terms of a text: small letters, without endings. `insufficient_balance` is one term and two more. */
export function termsOf(text) {
  const found = [];
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}_]+(?:['’-][\p{L}\p{N}_]+)*/gu) ?? []) {
    const parts = word.split(/[_'’-]+/).filter(Boolean);
    if (parts.length > 1) found.push(word);
    for (const part of parts) found.push(stem(part));
  }
  return found;
}

function stem(word) {
  if (word.length <= 3) return word;
  const short = word
    .replace(/(ss|us|is)$/, "$1|")
    .replace(/ies$/, "y")
    .replace(/(?<!\|)s$/, "")
    .replace(/(?:ed|ing|ation|ations|ment|er|ly)$/, "")
    .replace(/\|$/, "")
    .replace(/e$/, "");
  return short.length >= 3 ? undoubled(short) : word;
}

function undoubled(word) {
  return /([bdgmnprt])\1$/.test(word) ? word.slice(0, -1) : word;
}

/** Prepares an index, as /docs/search.json has it. */
export function prepare(pages) {
  const sections = [];
  pages.forEach((page, number) => {
    const words = counts(termsOf(page.k));
    const title = counts(termsOf(page.t));
    for (const section of page.s) {
      const text = counts(termsOf(section.x));
      const heading = counts(termsOf(section.h));
      let length = 0;
      for (const count of text.values()) length += count;
      sections.push({ page: number, section, words, title, heading, text, length });
    }
  });
  // How many pages have a term: what every page has tells nothing. The reference counts as one page.
  const having = new Map();
  const counted = pages.map((page) => (page.u.startsWith("/docs/reference") ? "/docs/reference" : page.u));
  for (const each of sections) {
    for (const term of [...each.heading.keys(), ...each.text.keys(), ...each.title.keys(), ...each.words.keys()]) {
      if (!having.has(term)) having.set(term, new Set());
      having.get(term).add(counted[each.page]);
    }
  }
  const frequencies = new Map([...having].map(([term, found]) => [term, found.size]));
  const average = sections.reduce((sum, each) => sum + each.length, 0) / sections.length;
  return { pages, sections, frequencies, average, most: new Set(counted).size, terms: [...frequencies.keys()] };
}

function counts(terms) {
  const found = new Map();
  for (const term of terms) found.set(term, (found.get(term) ?? 0) + 1);
  return found;
}

/** Pages that fit, the best first: `{page, section, score}`, with the section that fits best. */
export function search(index, question) {
  const asked = wanted(index, question);
  if (!asked.length) return [];
  const name = question.trim().toLowerCase();
  const best = new Map();
  for (const each of index.sections) {
    const score = scoreOf(index, each, asked);
    if (score <= 0) continue;
    const known = best.get(each.page);
    if (!known) best.set(each.page, { page: index.pages[each.page], section: each.section, score, others: [] });
    else if (score > known.score) best.set(each.page, { ...known, section: each.section, score, others: [...known.others, known.score] });
    else known.others.push(score);
  }
  const found = [...best.values()].map((each) => {
    const more = each.others.sort((a, b) => b - a).slice(0, 2).reduce((sum, one) => sum + one, 0);
    const score = each.page.w * (each.score + 0.15 * more) * (each.page.t.toLowerCase() === name ? TITLED : 1);
    return { page: each.page, section: each.section, score: each.page.c.includes(name) ? score + NAMED : score };
  });
  return found.sort((a, b) => b.score - a.score);
}

/** What is looked for: each term with others that fit it, and how much each counts. */
function wanted(index, question) {
  const all = termsOf(question);
  const telling = all.filter((term) => !STOP.has(term));
  return [...new Set(telling.length ? telling : all)].map((term) => {
    const fits = new Map([[term, 1]]);
    for (const other of ALSO[term] ?? ALSO[question.toLowerCase()] ?? []) {
      for (const each of termsOf(other)) fits.set(each, 0.7);
    }
    for (const [said, others] of Object.entries(ALSO)) {
      if (stem(said) === term) for (const other of others) for (const each of termsOf(other)) fits.set(each, 0.7);
    }
    if (term.length >= 3 && !index.frequencies.has(term)) {
      const begun = index.terms.filter((other) => other.startsWith(term) && !/[_-]/.test(other));
      begun.sort((a, b) => index.frequencies.get(b) - index.frequencies.get(a));
      for (const other of begun.slice(0, 5)) fits.set(other, 0.7);
    }
    return fits;
  });
}

function scoreOf(index, each, asked) {
  let score = 0;
  let met = 0;
  const size = 1 - EVENNESS + (EVENNESS * each.length) / index.average;
  for (const fits of asked) {
    let most = 0;
    for (const [term, share] of fits) {
      const frequency = index.frequencies.get(term);
      if (!frequency) continue;
      const weight =
        WEIGHTS.text * ((each.text.get(term) ?? 0) / size) +
        WEIGHTS.heading * (each.heading.get(term) ?? 0) +
        WEIGHTS.title * (each.title.get(term) ?? 0) +
        WEIGHTS.words * Math.min(each.words.get(term) ?? 0, 1);
      const rarity = Math.log(1 + (index.most - frequency + 0.5) / (frequency + 0.5));
      most = Math.max(most, share * rarity * ((weight * (SATURATION + 1)) / (weight + SATURATION)));
    }
    if (most > 0) met += 1;
    score += most;
  }
  return score * (met / asked.length);
}
