// Draws the figures; redraws them when theme or width change. Runs after the bundle has set vegaEmbed.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const specs = read("specs"), themes = read("themes");
const root = document.documentElement, button = document.getElementById("theme");
const system = window.matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
const theme = () => chosen ?? (system.matches ? "dark" : "light");

// Stacked panels have no container width of their own: every panel gets what is left beside its axis and a legend at its side.
const beside = (spec) => (JSON.stringify(spec).includes('"orient":"right"') ? 190 : 75);
const fitted = (spec, width) =>
  spec.vconcat ? { ...spec, vconcat: spec.vconcat.map((p) => narrowed(p, Math.max(160, width - beside(spec)))) } : spec;
// Words beside bars end where the panel does, and a legend above it has as many columns as fit.
const narrowed = (panel, width) => {
  const found = { ...panel, width };
  if (panel.layer) found.layer = panel.layer.map((l) => (l.mark.type === "text" ? { ...l, mark: { ...l.mark, limit: width } } : l));
  const legend = panel.encoding?.color?.legend;
  if (legend?.orient === "top" && legend.values) {
    const longest = Math.min(width, 28 + 7 * Math.max(...legend.values.map((name) => name.length)));
    const columns = Math.max(1, Math.min(legend.columns ?? legend.values.length, Math.floor(width / longest)));
    const color = { ...panel.encoding.color, legend: { ...legend, columns, labelLimit: Math.min(260, width - 28) } };
    found.encoding = { ...panel.encoding, color };
  }
  return found;
};

async function draw() {
  root.dataset.theme = theme();
  button.textContent = theme() === "dark" ? "Light" : "Dark";
  const drawn = specs.map(async ({ id, spec }) => {
    const place = document.getElementById(id);
    const config = themes[theme()];
    const actions = { export: true, source: false, compiled: false, editor: false };
    await vegaEmbed(place, fitted(spec, place.clientWidth), { config, actions, renderer: "svg", tooltip: { theme: theme() } });
  });
  await Promise.all(drawn);
  root.dataset.drawn = String(Number(root.dataset.drawn ?? 0) + 1);
}
const show = () => draw().catch((e) => { root.dataset.failed = String(e); console.error(e); });

button.addEventListener("click", () => { chosen = theme() === "dark" ? "light" : "dark"; show(); });
system.addEventListener("change", show);
let waiting, width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(show, 150);
});
show();
