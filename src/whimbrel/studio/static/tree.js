// A tree for keyboard and pointer (WAI-ARIA tree view): one item is in the order of tabs, arrows walk.

import { make } from "./dom.js";

// Returns an item; *load* is called when it opens for the first time and returns its children's items.
export function treeItem(label, { children = null, load = null, isOpen = false, onSelect = null, data = {} } = {}) {
  const row = make("span", { class: "tree-row" }, label);
  const item = make("li", { role: "treeitem", tabindex: "-1", "aria-selected": "false", data }, row);
  item.onSelect = onSelect;
  item.load = load;
  if (load || (children && children.length)) {
    item.setAttribute("aria-expanded", String(Boolean(isOpen && children)));
    const group = make("ul", { role: "group" }, children || []);
    group.hidden = !(isOpen && children);
    item.append(group);
  }
  return item;
}

export async function openItem(item, isOpen) {
  const group = item.querySelector(":scope > [role=group]");
  if (!group) return;
  if (isOpen && item.load) {
    const load = item.load;
    item.load = null;
    const children = await load();
    group.replaceChildren(...children);
    if (!children.length) {
      group.remove();
      item.removeAttribute("aria-expanded");
      return;
    }
  }
  item.setAttribute("aria-expanded", String(isOpen));
  group.hidden = !isOpen;
}

export function select(tree, item, { focus = true } = {}) {
  for (const other of tree.querySelectorAll('[aria-selected="true"]')) other.setAttribute("aria-selected", "false");
  for (const other of tree.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
  item.setAttribute("aria-selected", "true");
  item.tabIndex = 0;
  if (focus) item.focus();
  if (item.onSelect) item.onSelect(item);
}

export function firstInOrder(tree) {
  const first = tree.querySelector("[role=treeitem]");
  if (first && !tree.querySelector('[tabindex="0"]')) first.tabIndex = 0;
}

const shownItems = (tree) =>
  [...tree.querySelectorAll("[role=treeitem]")].filter((item) => item.closest("[hidden]") === null);

function onKey(tree, event) {
  const item = event.target.closest("[role=treeitem]");
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  const items = shownItems(tree);
  const at = items.indexOf(item);
  const isOpen = item.getAttribute("aria-expanded");
  const move = (to) => to && select(tree, to);
  const keys = {
    ArrowDown: () => move(items[at + 1]),
    ArrowUp: () => move(items[at - 1]),
    Home: () => move(items[0]),
    End: () => move(items[items.length - 1]),
    ArrowRight: () => (isOpen === "false" ? openItem(item, true) : isOpen === "true" && move(items[at + 1])),
    ArrowLeft: () =>
      isOpen === "true" ? openItem(item, false) : move(item.parentElement.closest("[role=treeitem]")),
    Enter: () => select(tree, item),
    " ": () => openItem(item, isOpen === "false"),
  };
  if (!(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
}

export function enable(tree) {
  tree.addEventListener("keydown", (event) => onKey(tree, event));
  tree.addEventListener("click", (event) => {
    if (event.target.closest("button, a")) return;
    const item = event.target.closest("[role=treeitem]");
    if (!item || !event.target.closest(".tree-row")) return;
    select(tree, item);
    if (item.hasAttribute("aria-expanded")) openItem(item, item.getAttribute("aria-expanded") === "false");
  });
}
