// @ts-check
// Runs before the first paint, as a plain script: marks that scripts run, and applies the chosen colours.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("agon-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    if (localStorage.getItem("agon-keys") === "off") root.classList.add("no-keys");
  } catch {
    // Storage can be forbidden; the system's colours are right then.
  }
})();
