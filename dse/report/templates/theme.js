// Light or dark: as the system says, until the button says otherwise; on paper light. A page has drawAll.
function setUpTheme() {
  const root = document.documentElement, wanted = matchMedia("(prefers-color-scheme: dark)");
  const apply = (dark) => { root.dataset.theme = dark ? "dark" : "light"; drawAll(); };
  let before = false;
  wanted.addEventListener("change", () => apply(wanted.matches));
  byId("theme").addEventListener("click", () => apply(root.dataset.theme !== "dark"));
  addEventListener("beforeprint", () => { before = root.dataset.theme === "dark"; if (before) apply(false); });
  addEventListener("afterprint", () => { if (before) apply(true); });
  apply(wanted.matches);
}
