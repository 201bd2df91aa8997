// @ts-check
// Putting a rendered answer into its pane.

/**
 * Makes `target` hold `html`, touching only the blocks that changed: what the reader has selected or scrolled in earlier blocks stays.
 * The HTML comes from the server, which has sanitised the whole of it; nothing else is ever given to this function.
 * @param {HTMLElement} target
 * @param {string} html
 */
export function patch(target, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const wanted = [...template.content.childNodes];
  wanted.forEach((node, i) => {
    const old = target.childNodes[i];
    if (!old) target.append(node);
    else if (!old.isEqualNode(node)) old.replaceWith(node);
  });
  while (target.childNodes.length > wanted.length) target.lastChild?.remove();
}

/**
 * What a model is doing, in words. The same for both sides: nothing here may tell one model from another.
 * @param {string} phase
 */
export function stateInWords(phase) {
  switch (phase) {
    case "thinking":
      return "Thinking";
    case "streaming":
      return "Writing";
    case "finished":
      return "";
    default:
      return "Waiting";
  }
}
