// Keys of the page, and the tabs of narrow screens and of the third column.

import { byId } from "./dom.js";

const isTyping = (target) => target.closest("input, textarea, select") !== null;

export function enableKeys(studio) {
  document.addEventListener("keydown", (event) => {
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && !isTyping(event.target) && event.key.toLowerCase() === "z") {
      event.preventDefault();
      studio.step(event.shiftKey ? "redo" : "undo");
      return;
    }
    if (event.key === "Escape" && event.target.closest("#request")) studio.answer.focusSteps();
    if (isCommand || event.altKey || isTyping(event.target)) return;
    if (event.key === "/") {
      event.preventDefault();
      show("answer");
      byId("url").focus();
      byId("url").select();
    } else if (event.key === "e") {
      event.preventDefault();
      show("config");
      studio.editor.edit();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target === document.body) {
      event.preventDefault();
      studio.answer.focusSteps();
    }
  });
}

// Shows a part of the page where only one has room.
export function show(name) {
  document.querySelector("main").dataset.shown = name;
  for (const tab of document.querySelectorAll("nav [role=tab]")) choose(tab, tab.id === `tab-${name}`);
}

function choose(tab, isChosen) {
  tab.setAttribute("aria-selected", String(isChosen));
  tab.tabIndex = isChosen ? 0 : -1;
}

export function showPanel(name) {
  for (const tab of document.querySelectorAll(".inner [role=tab]")) {
    const isChosen = tab.id === `tab-${name}`;
    choose(tab, isChosen);
    byId(tab.getAttribute("aria-controls")).hidden = !isChosen;
  }
}

function enableTabs(list, open) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  for (const tab of tabs) tab.addEventListener("click", () => open(tab.id.replace("tab-", "")));
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(event.target);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || !by) return;
    const next = tabs[(at + by + tabs.length) % tabs.length];
    event.preventDefault();
    open(next.id.replace("tab-", ""));
    next.focus();
  });
}

export function enableAllTabs(onPanel) {
  enableTabs(document.querySelector("nav.tabs"), show);
  enableTabs(document.querySelector(".inner"), (name) => {
    showPanel(name);
    onPanel(name);
  });
}
