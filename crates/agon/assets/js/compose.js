// @ts-check
// The first page: a question, an image by picker, drop or paste, and examples.

import { Unreachable, request } from "./api.js";
import { announce, errorNotice, find, remember, tabStorage } from "./page.js";
import { promptField } from "./prompt.js";

const TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp", "image/tiff"];
const DRAFT = "agon-draft";

const form = find("#composer", HTMLFormElement);
const field = find("#prompt", HTMLTextAreaElement);
const file = find("#image", HTMLInputElement);
const errorPlace = find("#composer-error", HTMLElement);
const veil = find("#drop-veil", HTMLElement);
const preview = find("#preview", HTMLElement);
const previewImage = find("#preview-image", HTMLImageElement);

/** @type {string | null} */
let previewUrl = null;

/**
 * @param {string | null} message
 * @param {string | null} [hint]
 */
function showError(message, hint) {
  errorPlace?.replaceChildren(...(message ? [errorNotice(message, hint)] : []));
}

/** @param {number} bytes */
function sizeInWords(bytes) {
  const megabytes = bytes / (1024 * 1024);
  return megabytes < 1 ? `${Math.max(1, Math.round(bytes / 1024))} kB` : `${megabytes.toFixed(1)} MB`;
}

function showPreview() {
  const chosen = file?.files?.[0];
  if (previewUrl) URL.revokeObjectURL(previewUrl);
  previewUrl = chosen ? URL.createObjectURL(chosen) : null;
  if (preview) preview.hidden = !chosen;
  if (!chosen) return;
  if (previewImage && previewUrl) previewImage.src = previewUrl;
  const name = find("#preview-name", HTMLElement);
  const size = find("#preview-size", HTMLElement);
  if (name) name.textContent = chosen.name || "Pasted image";
  if (size) size.textContent = sizeInWords(chosen.size);
  announce("Image added");
}

/**
 * What speaks against a file, before the server looks at its content.
 * @param {File} chosen
 * @returns {[string, string] | null}
 */
function objection(chosen) {
  const bytesMax = Number(form?.dataset.bytesMax ?? 0);
  if (chosen.type && !TYPES.includes(chosen.type)) return ["This is not a JPEG, PNG, WebP, GIF, BMP or TIFF image", "Convert it, or take a screenshot of it."];
  if (bytesMax && chosen.size > bytesMax) return [`The image has ${sizeInWords(chosen.size)}`, `At most ${sizeInWords(bytesMax)} are accepted.`];
  return null;
}

/** @param {FileList | File[]} files */
function take(files) {
  const chosen = [...files].find((candidate) => candidate.type.startsWith("image/")) ?? files[0];
  if (!chosen || !file) return;
  const wrong = objection(chosen);
  if (wrong) {
    showError(...wrong);
    return;
  }
  const transfer = new DataTransfer();
  transfer.items.add(chosen);
  file.files = transfer.files;
  showError(files.length > 1 ? "One image for each battle; the first was taken" : null);
  showPreview();
  field?.focus();
}

/** @param {boolean} isSending */
function setSending(isSending) {
  const button = form && find(".send", HTMLButtonElement, form);
  if (button) button.disabled = isSending;
  form?.setAttribute("aria-busy", String(isSending));
}

async function send() {
  if (!form || !field || form.getAttribute("aria-busy") === "true") return;
  const chosen = file?.files?.[0];
  if (!field.value.trim() && !chosen) {
    showError("Write a question, or add an image");
    field.focus();
    return;
  }
  const charsMax = Number(form.dataset.charsMax ?? 0);
  const chars = [...field.value].length;
  if (charsMax && chars > charsMax) {
    showError(`The question has ${chars.toLocaleString()} characters`, `At most ${charsMax.toLocaleString()} are accepted.`);
    return;
  }
  showError(null);
  setSending(true);
  announce("Sending");
  try {
    const body = new FormData();
    body.append("prompt", field.value);
    if (chosen) body.append("image", chosen);
    const battle = await request("/api/v1/battles", { method: "POST", body });
    remember(tabStorage, DRAFT, null);
    location.assign(`/battle/${battle.id}`);
  } catch (error) {
    setSending(false);
    const { message, hint, code } = /** @type {any} */ (error);
    if (code === "consent_required" || code === "consent_outdated") location.assign("/");
    else showError(message, error instanceof Unreachable ? "Your question is kept; send it again." : hint);
  }
}

if (form && field) {
  promptField(field, { draft: DRAFT, send });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  // A page that comes back from the browser's memory was left while sending.
  addEventListener("pageshow", () => setSending(false));
}

file?.addEventListener("change", () => {
  const chosen = file.files?.[0];
  const wrong = chosen && objection(chosen);
  if (wrong) {
    file.value = "";
    showError(...wrong);
  } else {
    showError(null);
  }
  showPreview();
});
find("#preview-remove", HTMLButtonElement)?.addEventListener("click", () => {
  if (file) file.value = "";
  showPreview();
  announce("Image removed");
  field?.focus();
});

for (const sample of document.querySelectorAll("[data-sample]")) {
  sample.addEventListener("click", () => {
    if (!field) return;
    field.value = sample.getAttribute("data-sample") ?? "";
    field.dispatchEvent(new Event("input"));
    field.focus();
    if (sample.hasAttribute("data-wants-image")) file?.click();
  });
}

if (file) {
  let depth = 0;
  /** @param {DragEvent} event */
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;
  addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    depth += 1;
    if (veil) veil.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    depth = Math.max(0, depth - 1);
    if (veil && depth === 0) veil.hidden = true;
  });
  addEventListener("dragover", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    if (veil) veil.hidden = true;
    if (event.dataTransfer) take(event.dataTransfer.files);
  });
  addEventListener("paste", (event) => {
    const files = event.clipboardData?.files;
    if (!files?.length) return;
    event.preventDefault();
    take(files);
  });
}
