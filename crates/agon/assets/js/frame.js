// @ts-check
// What every page has: the switch between light, dark and the system's colours, and local times.

import { announce, browserStorage, find, icon, recall, remember } from "./page.js";

const THEMES = /** @type {const} */ (["system", "light", "dark"]);
const ICONS = { system: "system", light: "sun", dark: "moon" };
const WORDS = { system: "as the system", light: "light", dark: "dark" };

/** @typedef {typeof THEMES[number]} Theme */

const button = find("#theme", HTMLButtonElement);

/** @returns {Theme} */
function current() {
  const theme = recall(browserStorage, "agon-theme");
  return theme === "light" || theme === "dark" ? theme : "system";
}

/** @param {Theme} theme */
function show(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  if (!button) return;
  button.replaceChildren(icon(ICONS[theme]));
  button.setAttribute("aria-label", `Colours: ${WORDS[theme]}`);
  button.title = `Colours: ${WORDS[theme]}`;
}

button?.addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length] ?? "system";
  remember(browserStorage, "agon-theme", next === "system" ? null : next);
  show(next);
  announce(`Colours: ${WORDS[next]}`);
});
show(current());

const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
for (const time of document.querySelectorAll("time[datetime]")) {
  const instant = new Date(time.getAttribute("datetime") ?? "");
  if (!Number.isNaN(instant.getTime())) time.textContent = format.format(instant);
}
