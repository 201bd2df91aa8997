// @ts-check
// Finding elements, telling screen readers what changed, and keeping small things in the browser.

/**
 * The element that a selector finds, or null when it is missing or of another kind.
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} kind
 * @param {ParentNode} [within]
 * @returns {T | null}
 */
export function find(selector, kind, within = document) {
  const element = within.querySelector(selector);
  return element instanceof kind ? element : null;
}

/**
 * Says something to screen readers when they next pause.
 * @param {string} text
 */
export function announce(text) {
  const live = document.getElementById("live");
  if (live && live.textContent !== text) live.textContent = text;
}

/**
 * An icon of the page's sprite.
 * @param {string} name
 * @returns {SVGSVGElement}
 */
export function icon(name) {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(namespace, "use");
  use.setAttribute("href", new URL(`../icons.svg#${name}`, import.meta.url).href);
  svg.append(use);
  return svg;
}

/**
 * A box with an error, as the server renders it.
 * @param {string} message
 * @param {string | null} [hint]
 * @returns {HTMLElement}
 */
export function errorNotice(message, hint) {
  const notice = document.createElement("div");
  notice.className = "notice error";
  const body = document.createElement("div");
  const strong = document.createElement("strong");
  strong.textContent = /[.!?]$/.test(message) ? message : `${message}.`;
  body.append(strong);
  if (hint) body.append(` ${hint}`);
  notice.append(icon("warn"), body);
  return notice;
}

/**
 * Reads a remembered text; null when there is none or storage is forbidden.
 * @param {Storage | (() => Storage)} storage
 * @param {string} key
 * @returns {string | null}
 */
export function recall(storage, key) {
  try {
    return (typeof storage === "function" ? storage() : storage).getItem(key);
  } catch {
    return null;
  }
}

/**
 * Remembers a text, or forgets it when it is null.
 * @param {Storage | (() => Storage)} storage
 * @param {string} key
 * @param {string | null} value
 */
export function remember(storage, key, value) {
  try {
    const place = typeof storage === "function" ? storage() : storage;
    if (value === null) place.removeItem(key);
    else place.setItem(key, value);
  } catch {
    // Nothing depends on it.
  }
}

/** Storage of the tab. A function, because even looking at it can be forbidden. */
export const tabStorage = () => sessionStorage;
/** Storage of the browser. */
export const browserStorage = () => localStorage;
