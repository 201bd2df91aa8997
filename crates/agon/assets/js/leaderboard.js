// @ts-check
// Sorting the leaderboard by a column, and files of plots in the colours of the page.

import { announce } from "./page.js";

/**
 * @param {HTMLTableElement} table
 * @param {HTMLTableCellElement} head
 */
function sort(table, head) {
  const body = table.tBodies[0];
  if (!body) return;
  const column = head.cellIndex;
  const kind = head.dataset.sort ?? "text";
  const was = head.getAttribute("aria-sort");
  // Numbers start with the highest, which is what is looked for.
  const first = kind === "number" ? "descending" : "ascending";
  const order = was === null ? first : was === "ascending" ? "descending" : "ascending";
  const sign = order === "ascending" ? 1 : -1;
  /** @param {HTMLTableRowElement} row */
  const value = (row) => row.cells[column]?.dataset.value ?? "";
  const rows = [...body.rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return sign * (kind === "text" ? x.localeCompare(y) : Number(x) - Number(y));
  });
  body.append(...rows);
  for (const other of head.parentElement?.children ?? []) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  announce(`Sorted by ${head.textContent?.trim()}, ${order}`);
}

for (const table of document.querySelectorAll("table[data-sortable]")) {
  if (!(table instanceof HTMLTableElement)) continue;
  for (const head of table.querySelectorAll("th[data-sort]")) {
    if (!(head instanceof HTMLTableCellElement)) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent?.trim() ?? "";
    button.addEventListener("click", () => sort(table, head));
    head.replaceChildren(button);
  }
}

/** Whether the page is dark, by choice or by the system. */
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

for (const link of document.querySelectorAll("a[data-themed]")) {
  if (!(link instanceof HTMLAnchorElement)) continue;
  // Decided on the click: the colours may have been changed since the page was loaded.
  link.addEventListener("click", () => {
    const address = new URL(link.href);
    if (isDark()) address.searchParams.set("theme", "dark");
    else address.searchParams.delete("theme");
    link.href = address.href;
  });
}
