// @ts-check
// Sorting the leaderboard by a column.

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
