// Fills the page from server-sent events. Every text is set as text, never as markup.
const $ = (id) => document.getElementById(id);
const root = document.documentElement, button = $("theme");
const system = window.matchMedia("(prefers-color-scheme: dark)");
const { specs, themes } = await (await fetch("/themes.json")).json();
const PERCENTILES = [["p50", "p50"], ["p90", "p90"], ["p99", "p99"], ["p999", "p99.9"]];
let chosen = null, latest = null, steps = [];
const theme = () => chosen ?? (system.matches ? "dark" : "light");

const made = (tag, text, kind) => {
  const found = document.createElement(tag);
  if (text !== undefined && text !== null) found.textContent = text;
  if (kind) found.className = kind;
  return found;
};
const setText = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };
const show = (id, wanted) => { $(id).hidden = !wanted; };
const clock = (s) => new Date(1000 * s).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

// A table of texts; a header that starts with # is of numbers, and a cell may be [text, class].
function fill(id, header, rows) {
  show(id, rows.length > 0);
  const table = $(id).querySelector("table"), head = made("tr"), body = made("tbody");
  const names = header.map((h) => h.replace("#", ""));
  header.forEach((h, k) => head.append(made("th", names[k], h.startsWith("#") ? "num" : "")));
  for (const row of rows) {
    const line = made("tr");
    row.forEach((cell, k) => {
      const [text, kind] = Array.isArray(cell) ? cell : [cell, ""];
      const found = made("td", text ?? "–", `${header[k].startsWith("#") ? "num" : ""} ${kind}`.trim());
      found.dataset.label = names[k];
      line.append(found);
    });
    body.append(line);
  }
  const top = made("thead");
  top.append(head);
  table.replaceChildren(top, body);
}

function tile(name, role) {
  const found = made("div", null, "tile"), list = made("dl");
  found.append(made("h3", name), made("div", role.rate, "rate"), list);
  const say = (what, text, kind) => { if (text !== null) list.append(made("dt", what), made("dd", text, kind)); };
  for (const [key, label] of PERCENTILES) say(label, role.times[key]);
  say("done", role.rows ? `${role.rows.toLocaleString("en")} rows` : `${role.calls.toLocaleString("en")} calls`);
  if (role.due !== null) {
    say("due", `${role.due.toLocaleString("en")} calls`);
    say("due, not done", role.backlog.toLocaleString("en"));
    say("sent late", role.late.toLocaleString("en"), role.late ? "bad" : "");
    say("lag p99", role.lag);
  }
  const failed = Object.entries(role.outcomes);
  say("errors", role.errors.toLocaleString("en"), role.errors ? "bad" : "");
  for (const [outcome, calls] of failed) say(outcome, calls.toLocaleString("en"), "bad");
  return found;
}

function where(shown) {
  const run = shown.run;
  if (!run) return "no run has begun";
  const parts = [`run ${shown.runs.n} of ${shown.runs.of}`, run.point, run.block === 0 ? "pilot" : `block ${run.block}`];
  if (run.segment) parts.push(`${run.segment} (${run.number} of ${run.segments})`);
  if (run.repetition) parts.push(`repetition ${run.repetition + 1}`);
  if (run.loaded) parts.push(`${run.loaded.rows.toLocaleString("en")} of ${run.loaded.of.toLocaleString("en")} rows`);
  parts.push(`for ${run.took}`);
  if (run.silent_s > 3) parts.push(`no word of the sessions for ${run.silent_s.toFixed(0)} s`);
  return parts.join(" · ");
}

const WORDS = { running: "LIVE", done: "DONE", failed: "ENDED WITH FAILED RUNS", interrupted: "INTERRUPTED" };

function render(shown) {
  document.title = `${shown.study.title || shown.study.name} · inrush, live`;
  setText("id", [shown.study.name, shown.study.id].filter(Boolean).join(" · "));
  setText("title", shown.study.title || shown.study.name);
  setText("question", shown.study.question);
  $("state").className = `banner live${shown.status === "running" ? "" : " ended"}`;
  setText("word", WORDS[shown.status] ?? shown.status.toUpperCase());
  setText("where", where(shown));
  const share = shown.run?.share ?? null;
  $("bar").hidden = share === null;
  if (share !== null) $("done").style.width = `${(100 * Math.min(1, share)).toFixed(1)}%`;
  setText("ends", shown.left ? `${shown.left} left: the study ends at about ${clock(shown.ends_s)}.` : "");
  setText("before", shown.series.before ? `Of ${shown.series.before}, the run before: the next one has not begun to work.` : "");
  $("tiles").replaceChildren(...Object.entries(shown.roles).map(([name, role]) => tile(name, role)));
  show("now", Object.keys(shown.roles).length > 0);
  fill("limits", ["what it does", "figure", "#limit", "#now", "#used"],
    shown.limits.map((l) => [l.what, l.figure, l.limit, l.now ?? "known at the end", [l.used, l.crossed ? "bad" : ""]]));
  fill("used", ["role", "device", "uses"],
    shown.resources.map((r) => [r.called, r.device, r.said.map((s) => `${s.what} ${s.value}`).join(" · ")]));
  setText("figure", shown.points.figure ? `${shown.points.figure}: geometric mean of the runs that count [95 %].` : "");
  fill("points", ["point", "#runs", "#so far"],
    shown.points.rows.map((p) => [p.point, String(p.runs), [p.shown, p.invalid ? "bad" : ""]]));
  fill("claims", ["claim", "point", "#claimed", "#from", "#to", "#measured", ""],
    shown.claims.map((c) => [c.id, c.point, c.claimed, c.from, c.to, c.measured ?? "not yet",
      c.inside === null ? "" : c.inside ? "inside" : ["outside", "bad"]]));
  const next = shown.next.runs.map((r) => made("li", `${r.point} (${r.block === 0 ? "pilot" : `block ${r.block}`})`));
  if (shown.next.more) next.push(made("li", `and ${shown.next.more} more runs`));
  $("next").querySelector("ol").replaceChildren(...next);
  show("next", next.length > 0);
  $("said").querySelector("ul").replaceChildren(...shown.messages.toReversed().map((m) => {
    const line = made("li"), at = made("time", clock(m.at_s));
    line.append(at, ` ${m.text}`);
    return line;
  }));
  show("said", shown.messages.length > 0);
}

// Charts: name -> { place, view, of }. `of` gives the rows; a chart without any is hidden.
const charts = new Map();
const lines = (values) => steps.flatMap((step) =>
  values(step).filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => ({ t: 1000 * step.t, name, value })));
const moves = (rows) => rows.some((row) => row.value > 0);

function chart(id, title, spec, of, into) {
  if (charts.has(id)) return;
  const figure = made("figure"), place = made("div", null, "chart");
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", title);
  figure.append(made("h3", title), place);
  document.querySelector(into).append(figure);
  charts.set(id, { figure, place, spec, of, view: null });
}

function overTime({ name, title, spec, each_role }) {
  if (!each_role) return chart(name, title, spec, () => lines((step) => Object.entries(step[name])), "#charts .figures");
  for (const role of new Set(steps.flatMap((step) => Object.keys(step[name])))) {
    const of = () => lines((step) => Object.entries(step[name][role] ?? {}));
    chart(`${name}-${role}`, `${title} of ${role}`, spec, of, "#charts .figures");
  }
}

chart("points", "Points so far", specs.points, () => (latest?.points.rows ?? []).filter((p) => p.centre !== null), "#points .figures");

async function embed(one, rows) {
  const wanted = theme();
  const config = themes[wanted];
  const spec = { ...one.spec, data: { name: "rows", values: rows } };
  const result = await window.vegaEmbed(one.place, spec, { config, actions: false, renderer: "canvas", tooltip: false });
  one.view = result.view;
}

let drawing = false;
async function draw() {
  if (document.hidden || drawing || !window.vegaEmbed) return;
  drawing = true;
  try {
    specs.over_time.forEach(overTime);
    for (const [id, one] of charts) {
      const rows = one.of();
      const drawn = id === "points" ? rows.some((p) => p.low !== null) : moves(rows);
      one.figure.hidden = !drawn;
      if (!drawn) continue;
      const height = 40 + 22 * rows.length;
      if (id === "points" && one.spec.height !== height) { // a point has been added
        one.view?.finalize();
        [one.view, one.spec] = [null, { ...one.spec, height }];
      }
      if (!one.view) await embed(one, rows);
      else await one.view.data("rows", rows).runAsync();
    }
    root.dataset.drawn = String(Number(root.dataset.drawn ?? 0) + 1);
  } catch (e) {
    root.dataset.failed = String(e);
    console.error(e);
  } finally {
    drawing = false;
  }
}
const again = () => {
  root.dataset.theme = theme();
  button.textContent = theme() === "dark" ? "Light" : "Dark";
  for (const one of charts.values()) { one.view?.finalize(); one.view = null; one.place.replaceChildren(); }
  return draw();
};
button.addEventListener("click", () => { chosen = theme() === "dark" ? "light" : "dark"; again(); });
system.addEventListener("change", again);
document.addEventListener("visibilitychange", draw);
let waiting, width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(again, 150);
});
root.dataset.theme = theme();
button.textContent = theme() === "dark" ? "Light" : "Dark";

const source = new EventSource("/events");
source.addEventListener("beat", (event) => {
  const beat = JSON.parse(event.data);
  if (beat.begins) steps = [];
  steps.push(...beat.steps);
  latest = beat.snapshot;
  render(latest);
  root.dataset.beats = String(Number(root.dataset.beats ?? 0) + 1);
  root.dataset.now = String(latest.now_s);
  root.dataset.steps = String(steps.length);
  draw();
  if (beat.last) {
    source.close();
    if (beat.report) location.replace("/");
    else if (latest.status === "running") away("ENDED", "inrush has ended without a report");
  }
});
function away(word, why) {
  $("state").className = "banner lost";
  setText("word", word);
  setText("where", why);
}
source.addEventListener("error", () => {
  if (latest && latest.status !== "running") return;
  away("NO CONNECTION", "inrush has ended, or cannot be reached; this page goes on when it answers again");
});
