// @ts-check
// A field for a question: grows with its text, sends on Enter where there is a real keyboard.

import { recall, remember, tabStorage } from "./page.js";

const growsByItself = CSS.supports("field-sizing", "content");

/**
 * @param {HTMLTextAreaElement} field
 * @param {{ draft: string, send: () => void }} options `draft` names what is remembered until it is sent.
 */
export function promptField(field, { draft, send }) {
  if (!field.value) field.value = recall(tabStorage, draft) ?? "";
  const grow = () => {
    if (growsByItself) return;
    field.rows = Math.min(14, Math.max(Number(field.getAttribute("rows") ?? 1), field.value.split("\n").length));
  };
  grow();
  field.addEventListener("input", () => {
    remember(tabStorage, draft, field.value || null);
    grow();
  });
  field.addEventListener("keydown", (event) => {
    const sends = event.key === "Enter" && !event.shiftKey && !event.altKey && !event.isComposing;
    // On a touch keyboard Enter is the only way to a new line.
    if (!sends || matchMedia("(pointer: coarse)").matches) return;
    event.preventDefault();
    send();
  });
  return {
    clear() {
      field.value = "";
      remember(tabStorage, draft, null);
      grow();
    },
  };
}
