// @ts-check
// The battle page: answers while they are written, the vote, further questions.
// The server renders every state; this module only asks for the page again and exchanges the regions that differ.

import { Refusal, Unreachable, post, request } from "./api.js";
import { announce, browserStorage, errorNotice, find, recall, remember, tabStorage } from "./page.js";
import { promptField } from "./prompt.js";
import { patch, stateInWords } from "./answer.js";

const root = find("[data-battle]", HTMLElement);
const id = root?.dataset.battle ?? "";
const api = `/api/v1/battles/${id}`;
/** A vote that was cast and not yet acknowledged, so that neither a reload nor a dead connection loses it. */
const PENDING = `agon-vote-${id}`;
const RETRY_MS_FIRST = 1000;
const RETRY_MS_MAX = 20000;
/** A key pressed right when voting opens was meant for something else. */
const KEYS_REST_MS = 700;

/** @type {EventSource | null} */
let events = null;
let votableSince = find("#votes button:not(:disabled)", HTMLButtonElement) ? 0 : Number.POSITIVE_INFINITY;

// --- The page's regions

/** @param {string | null} message @param {string | null} [hint] */
function showNotice(message, hint) {
  find("#dock-notice", HTMLElement)?.replaceChildren(...(message ? [errorNotice(message, hint)] : []));
}

/** Asks for the page again and exchanges what differs. Selections, scroll positions and a half-written question stay. */
async function refresh() {
  /** @type {Document} */
  let next;
  try {
    const response = await fetch(location.pathname, { credentials: "same-origin" });
    if (!response.ok) return;
    next = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return;
  }
  const newRoot = next.querySelector("[data-battle]");
  if (!root || !(newRoot instanceof HTMLElement)) return;
  const hadFocusInVote = find("#vote", HTMLElement)?.contains(document.activeElement) ?? false;
  for (const turn of next.querySelectorAll(".turn")) {
    if (!document.getElementById(turn.id)) document.getElementById("turns")?.append(document.adoptNode(turn));
  }
  for (const region of next.querySelectorAll("[data-region]")) {
    const old = document.querySelector(`[data-region="${region.getAttribute("data-region")}"]`);
    if (old && !old.isEqualNode(region)) old.replaceWith(document.adoptNode(region));
  }
  if (!next.getElementById("follow")) document.getElementById("follow")?.remove();
  if (newRoot.dataset.status === "voted") find(".tips", HTMLElement)?.remove();
  const wasVotable = votableSince !== Number.POSITIVE_INFINITY;
  const isVotable = find("#votes button:not(:disabled)", HTMLButtonElement) !== null;
  if (isVotable !== wasVotable) votableSince = isVotable ? performance.now() : Number.POSITIVE_INFINITY;
  const wasStatus = root.dataset.status;
  root.dataset.status = newRoot.dataset.status;
  if (wasStatus !== root.dataset.status) {
    if (root.dataset.status === "ratable") announce("Both answers are complete. You can vote now.");
    if (root.dataset.status === "failed") announce("An answer failed. You can ask for it again.");
    if (root.dataset.status === "voted") {
      announce(find(".result > div", HTMLElement)?.textContent?.trim().replace(/\s+/g, " ") ?? "Vote saved.");
      if (hadFocusInVote || document.activeElement === document.body) find("#result-title", HTMLElement)?.focus({ preventScroll: true });
    }
  }
  showPending();
}

// --- Answers while they are written

/** @typedef {{ turn: number, side: string, attempt: number, phase: string, finish: string | null, problem: { message: string } | null, html: string }} AnswerEvent */

/** @param {AnswerEvent} answer */
function showAnswer(answer) {
  const pane = document.getElementById(`turn-${answer.turn}-${answer.side}`);
  const body = pane && find("[data-answer]", HTMLElement, pane);
  if (!pane || !body) return;
  const wasPhase = pane.dataset.phase;
  pane.dataset.phase = answer.phase;
  pane.dataset.attempt = String(answer.attempt);
  const state = find("[data-state-text]", HTMLElement, pane);
  if (state) state.textContent = stateInWords(answer.phase);
  if (answer.html) {
    keepAtEnd(pane, () => patch(body, answer.html));
  }
  if (answer.phase === "finished" && wasPhase !== "finished") {
    find("[data-state]", HTMLElement, pane)?.replaceChildren();
    body.setAttribute("aria-busy", "false");
    if (!answer.problem) announce(`Model ${answer.side.toUpperCase()} has finished.`);
    else refresh();
  }
}

function listen() {
  events?.close();
  const source = new EventSource(`${api}/events?render=html`);
  events = source;
  source.addEventListener("answer", (event) => showAnswer(JSON.parse(event.data)));
  source.addEventListener("end", () => {
    source.close();
    events = null;
    refresh();
  });
  source.addEventListener("error", () => {
    // A lost connection is opened again by the browser. A refused one is not: the page itself says why then.
    if (source.readyState !== EventSource.CLOSED) return;
    events = null;
    setTimeout(async () => {
      await refresh();
      if (root?.dataset.status === "answering") listen();
    }, 3000);
  });
}

/** Whether the reader follows the end of the answers; any scrolling of their own ends it. */
let follows = true;
for (const kind of ["wheel", "touchmove", "pointerdown"]) {
  addEventListener(kind, () => { follows = false; }, { passive: true });
}
addEventListener("keydown", (event) => {
  if (["PageUp", "PageDown", "ArrowUp", "ArrowDown", "Home", "End", " "].includes(event.key)) follows = false;
});

/**
 * Applies a change and, while the reader follows, keeps its end in sight, but never scrolls the beginning of the answers out of it.
 * @param {HTMLElement} pane
 * @param {() => void} change
 */
function keepAtEnd(pane, change) {
  change();
  const turn = pane.closest(".turn");
  if (!follows || !turn) return;
  const top = turn.getBoundingClientRect().top + scrollY - parseFloat(getComputedStyle(turn).scrollMarginTop);
  const end = document.documentElement.scrollHeight - innerHeight;
  scrollTo({ top: Math.max(0, Math.min(top, end)), behavior: "instant" });
}

// --- The vote

/** @typedef {{ winner: string, key: string }} PendingVote */

/** @type {PendingVote | null} */
let pending = null;
let isSending = false;
let waitMs = RETRY_MS_FIRST;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

function showPending() {
  for (const button of document.querySelectorAll("#votes button")) {
    if (!(button instanceof HTMLButtonElement)) continue;
    if (pending) button.disabled = true;
    if (pending?.winner === button.value) button.setAttribute("aria-pressed", "true");
    else button.removeAttribute("aria-pressed");
  }
  const send = find("#follow .send", HTMLButtonElement);
  if (send && pending) send.disabled = true;
}

/** @param {string} winner */
function vote(winner) {
  if (pending || votableSince === Number.POSITIVE_INFINITY) return;
  pending = { winner, key: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
  remember(tabStorage, PENDING, JSON.stringify(pending));
  announce("Saving your vote");
  sendVote();
}

async function sendVote() {
  if (!pending || isSending) return;
  clearTimeout(timer);
  isSending = true;
  showPending();
  const why = document.getElementById("why");
  const spinner = document.createElement("span");
  spinner.className = "spinner";
  spinner.setAttribute("aria-hidden", "true");
  why?.replaceChildren(spinner, "Saving your vote…");
  try {
    await post(`${api}/vote`, { winner: pending.winner }, { "idempotency-key": pending.key });
    forgetVote();
    await refresh();
  } catch (error) {
    isSending = false;
    if (error instanceof Refusal && error.status < 500 && error.status !== 429) {
      const wasVoted = error.code === "already_voted";
      forgetVote();
      await refresh();
      showNotice(wasVoted ? "You had voted on this battle already" : error.message, wasVoted ? "The first vote counts; this is its result." : error.hint);
      return;
    }
    why?.replaceChildren("Trying again by itself…");
    showNotice("Your vote could not be saved yet", "It is kept in this browser and sent again until it is. Leave this page open, or come back to it.");
    announce("Your vote could not be saved yet. It is kept and sent again.");
    timer = setTimeout(sendVote, waitMs);
    waitMs = Math.min(RETRY_MS_MAX, waitMs * 2);
  } finally {
    isSending = false;
  }
}

function forgetVote() {
  pending = null;
  waitMs = RETRY_MS_FIRST;
  remember(tabStorage, PENDING, null);
  showNotice(null);
}

addEventListener("online", () => sendVote());

const KEYS = /** @type {Record<string, string>} */ ({ 1: "model_a", 2: "model_b", 3: "tie", 4: "both_bad", ArrowLeft: "model_a", ArrowRight: "model_b" });

addEventListener("keydown", (event) => {
  const winner = KEYS[event.key];
  const target = event.target;
  const isElsewhere = target instanceof Element && target.closest("input, textarea, select, summary, [contenteditable], .table, pre, .text") !== null;
  if (!winner || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isElsewhere) return;
  if (document.documentElement.classList.contains("no-keys") || performance.now() - votableSince < KEYS_REST_MS) return;
  if (votableSince === Number.POSITIVE_INFINITY) return;
  event.preventDefault();
  vote(winner);
});

function showKeys() {
  const isOff = document.documentElement.classList.contains("no-keys");
  const state = document.getElementById("keys-state");
  const toggle = document.getElementById("keys-toggle");
  if (state) state.textContent = isOff ? "Voting keys are off" : "Keys 1–4 vote, ← is A, → is B";
  if (toggle) toggle.textContent = isOff ? "Turn on" : "Turn off";
}

// --- Clicks and forms

addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const copy = target?.closest("[data-copy]");
  if (copy instanceof HTMLButtonElement) copyAnswer(copy);
  const to = target?.closest("[data-switch]");
  if (to) {
    event.preventDefault();
    showSide(to.getAttribute("data-switch") ?? "a", to.closest(".turn"));
  }
  if (target?.id === "keys-toggle") {
    const isOff = document.documentElement.classList.toggle("no-keys");
    remember(browserStorage, "agon-keys", isOff ? "off" : null);
    showKeys();
  }
});

addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  if (form.id === "votes") {
    event.preventDefault();
    const button = event.submitter;
    if (button instanceof HTMLButtonElement) vote(button.value);
  } else if (form.id === "follow") {
    event.preventDefault();
    followUp();
  } else if (form.hasAttribute("data-retry")) {
    event.preventDefault();
    run(() => post(`${api}/retry`), "Asking again");
  }
});

/**
 * Does something that makes the models answer, and shows how.
 * @param {() => Promise<unknown>} action
 * @param {string} words
 */
async function run(action, words) {
  showNotice(null);
  announce(words);
  try {
    await action();
  } catch (error) {
    const { message, hint } = /** @type {any} */ (error);
    showNotice(message, error instanceof Unreachable ? "Nothing was lost; try again." : hint);
    await refresh();
    return false;
  }
  follows = true;
  await refresh();
  const last = document.querySelector(".turn:last-of-type");
  last?.scrollIntoView({ block: "start" });
  listen();
  return true;
}

const follow = find("#follow", HTMLFormElement);
const field = find("#prompt", HTMLTextAreaElement);
const prompt = field && follow && promptField(field, { draft: `agon-draft-${id}`, send: followUp });

async function followUp() {
  const button = follow && find(".send", HTMLButtonElement, follow);
  if (!field || !button || button.disabled || !field.value.trim()) return;
  button.disabled = true;
  const text = field.value;
  if (await run(() => post(`${api}/turns`, { prompt: text }), "Sent to both models")) prompt?.clear();
}

/** @param {HTMLButtonElement} button */
async function copyAnswer(button) {
  const pane = button.closest(".pane");
  const shown = pane && find("[data-answer]", HTMLElement, pane)?.innerText;
  /** @returns {Promise<string>} the Markdown as the model wrote it, or what is shown when that cannot be had */
  const source = async () => {
    const battle = await request(api).catch(() => null);
    return battle?.turns?.[Number(button.dataset.turn)]?.answers?.[button.dataset.copy ?? ""]?.text ?? shown ?? "";
  };
  try {
    await navigator.clipboard.writeText(await source());
  } catch {
    announce("Copying is not possible here");
    return;
  }
  announce("Copied");
  const use = button.querySelector("use");
  const before = use?.getAttribute("href") ?? "";
  use?.setAttribute("href", before.replace(/#.*/, "#check"));
  setTimeout(() => use?.setAttribute("href", before), 1500);
}

// --- One side at a time, on narrow screens

/**
 * @param {string} side
 * @param {Element | null} turn
 */
function showSide(side, turn) {
  const panes = turn && find(".panes", HTMLElement, turn);
  const pane = panes && find(`.pane[id$="-${side}"]`, HTMLElement, panes);
  if (!panes || !pane) return;
  const isRightToLeft = getComputedStyle(panes).direction === "rtl";
  panes.scrollTo({ left: side === "a" ? 0 : (isRightToLeft ? -1 : 1) * panes.scrollWidth, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
  if (pane.getBoundingClientRect().top < 0) turn.scrollIntoView({ block: "start" });
}

document.addEventListener("scroll", (event) => {
  const panes = event.target;
  if (!(panes instanceof HTMLElement) || !panes.classList.contains("panes")) return;
  const isAtEnd = Math.abs(panes.scrollLeft) > (panes.scrollWidth - panes.clientWidth) / 2;
  for (const link of panes.closest(".turn")?.querySelectorAll("[data-switch]") ?? []) {
    if ((link.getAttribute("data-switch") === "b") === isAtEnd) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}, { capture: true, passive: true });

// --- Start

showKeys();
if (root?.dataset.status === "answering") {
  listen();
} else {
  follows = false;
}
const kept = recall(tabStorage, PENDING);
if (kept) {
  if (root?.dataset.status === "ratable") {
    pending = JSON.parse(kept);
    sendVote();
  } else {
    remember(tabStorage, PENDING, null);
  }
}
