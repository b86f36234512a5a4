// Elements. Text of the configuration reaches the page through textContent alone.

export const byId = (id) => document.getElementById(id);

// Returns an element: attributes, then children (elements or texts); `on` adds listeners, `data` a dataset.
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") for (const [event, work] of Object.entries(value)) element.addEventListener(event, work);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key === "class") element.className = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== "") element.append(child);
  }
  return element;
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

const RISKS = {
  "breaks start-up": "breaks",
  "500 per request": "fails",
  "could not be read": "changes",
  "opens access": "opens",
  "closes access": "closes",
  "changes answers": "changes",
  cosmetic: "cosmetic",
};

export const riskOf = (word) => RISKS[word] || "undecided";
export const chip = (word, text = word) => make("span", { class: "chip", data: { risk: riskOf(word) } }, text);
export const number = (value) => value.toLocaleString("en");
export const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

// A place that opens the file at its line.
export function place(known, open) {
  if (!known) return null;
  const text = known.line ? `${known.file}:${known.line}` : known.file;
  return make("button", { type: "button", class: "place", on: { click: () => open(known.file, known.line) } }, text);
}

// Runs the last of many calls after a pause.
export function settled(work, milliseconds) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
}
