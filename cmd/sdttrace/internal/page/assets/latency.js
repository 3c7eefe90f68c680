// Latencies: a heat map of when and how long, their distribution, the slowest pairs.

let span = null, slowShown = 10, shownSlowest = "";
const heatPerOctave = 4;

const heatBox = () => {
  const r = $("heat-canvas").getBoundingClientRect();
  return { x: 58, y: 6, width: r.width - 66, height: r.height - 34 };
};

function heatRows() {
  const rows = span.Heat.map(h => h.Row);
  return [Math.min(...rows) - 1, Math.max(...rows) + 1];
}

function drawHeat() {
  const { g } = canvasOf($("heat-canvas")), box = heatBox();
  const bins = trace.Time.Bins, [low, high] = heatRows(), rows = high - low + 1;
  const merge = Math.max(1, Math.ceil(bins / (box.width / 4)));
  const columns = Math.ceil(bins / merge), h = box.height / rows;
  const cells = new Map();
  let most = 1;
  for (const { Row: row, Counts: counts } of span.Heat) {
    const sums = new Float64Array(columns);
    counts.forEach((n, i) => sums[Math.floor(i / merge)] += n);
    for (const n of sums) most = Math.max(most, n);
    cells.set(row, sums);
  }
  g.fillStyle = colors.line;
  g.fillRect(box.x, box.y + box.height, box.width, 1);
  hatchLosses(g, box, timeFrom(), timeTo());
  const w = merge / bins * box.width;
  for (const [row, sums] of cells) {
    const y = box.y + (high - row) * h;
    sums.forEach((n, c) => {
      if (!n) return;
      // The root shows single slow ones beside thousands of usual ones.
      g.fillStyle = heatColor(Math.sqrt(n / most));
      g.fillRect(box.x + c * w, y, Math.ceil(w) > w + 0.7 ? w : Math.max(w - (w > 5 ? 0.7 : 0), 1.2), Math.max(h - (h > 4 ? 0.7 : 0), 1));
    });
  }
  g.textAlign = "right";
  g.textBaseline = "middle";
  let last = Infinity;
  for (let e = -1; e <= 13; e++) for (const m of [1, 2, 5]) {
    const v = m * 10 ** e, row = Math.log2(v) * heatPerOctave, y = box.y + (high + 1 - row) * h;
    if (y < box.y + 2 || y > box.y + box.height || last - y < 22) continue;
    last = y;
    g.fillStyle = colors.grid;
    g.globalAlpha = 0.6;
    g.fillRect(box.x, Math.round(y), box.width, 1);
    g.globalAlpha = 1;
    g.fillStyle = colors.soft;
    g.fillText(durationText(v), box.x - 8, y);
  }
  nameLosses(g, box, timeFrom(), timeTo());
  selectionOver(g, box, timeFrom(), timeTo());
  cursorOver(g, box, $("heat-canvas").cursor);
  timeAxis(g, box, timeFrom(), timeTo());
}

function readHeat(bin, y) {
  const all = span.Heat.map(h => [h.Row, h.Counts[bin] || 0]).filter(h => h[1]).sort((a, b) => a[0] - b[0]);
  const n = all.reduce((s, h) => s + h[1], 0);
  if (!n) return `${clock(binAt(bin))}: no pair` + lostAt(bin);
  const bound = row => durationText(2 ** (row / heatPerOctave));
  let text = `${clock(binAt(bin))}, ${durationText(trace.Time.Width)}: ${plural(n, "pair")}, ${bound(all[0][0])} to ${bound(all.at(-1)[0] + 1)}`;
  if (y !== undefined) {
    const box = heatBox(), [low, high] = heatRows(), row = high - Math.floor((y - box.y) / box.height * (high - low + 1));
    const here = all.find(h => h[0] === row);
    if (here) text += ` · ${count(here[1])} from ${bound(row)} to ${bound(row + 1)}`;
  }
  return text + lostAt(bin);
}

function showSpan(i) {
  span = trace.Spans[i];
  const v = span.Took;
  const figures = $("latency-figures");
  figures.textContent = "";
  for (const [name, text, value] of [["Pairs", count(v.Count), v.Count], ["Mean", took(v.Sum / v.Count), v.Sum / v.Count], ["Median", took(quantile(v, 0.5))], ["p90", took(quantile(v, 0.9))], ["p99", took(quantile(v, 0.99))], ["p99.9", took(quantile(v, 0.999))], ["Longest", took(v.Max), v.Max]]) {
    const dd = withUnit(el("dd", ""), text);
    dd.dataset.value = value ?? "";
    figures.append(el("div", "", el("dt", "", name), dd));
  }
  $("heat-canvas").setAttribute("aria-label", `Latency over time: ${plural(v.Count, "pair")}, median ${durationText(quantile(v, 0.5))}, longest ${durationText(v.Max)}`);
  $("latency-canvas").setAttribute("aria-label", `Distribution of latencies, from ${durationText(v.Min)} to ${durationText(v.Max)}`);
  showGroups();
  showSlowest();
  redraw();
}

const took = ns => figure(ns, "ns");

// showGroups lists what took longest in all. Texts that hardly ever come again say nothing so.
function showGroups() {
  const all = span.Groups || [], body = $("groups-table").tBodies[0], told = all.filter(g => !g.Other);
  $("groups").hidden = told.length < 2 || span.Took.Count < 2 * told.length || all.some(g => g.Other && g.Took.Count > span.Took.Count / 2);
  body.textContent = "";
  for (const { Text: text, Other: other, Took: v } of all) {
    v.Buckets.sort((a, b) => a[0] - b[0]);
    const cell = s => withUnit(el("td", "num"), s);
    const row = el("tr", "", cell(took(v.Sum)), cell((100 * v.Sum / span.Took.Sum).toFixed(1) + "\u00a0%"), cell(count(v.Count)), ...[v.Sum / v.Count, quantile(v, 0.5), quantile(v, 0.99), v.Max].map(n => cell(took(n))), el("td", other ? "wrap" : "mono wrap", other ? "all others" : text));
    Object.assign(row.dataset, { text, count: v.Count, sum: v.Sum });
    body.append(row);
  }
}

function showSlowest() {
  const slowest = span.Slowest.slice(0, slowShown), all = JSON.stringify([trace.Spans.indexOf(span), slowest, span.Slowest.length]);
  if (shownSlowest === all) return; // what is pressed stays, as long as nothing is slower
  shownSlowest = all;
  const body = $("slowest").tBodies[0], focused = [...body.rows].findIndex(r => r.contains(document.activeElement));
  body.textContent = "";
  for (const s of slowest) {
    const began = Number(BigInt(s.Began) - trace.first);
    const around = el("button", "link", "around");
    around.type = "button";
    around.setAttribute("aria-label", `Show the events around ${clock(began)}`);
    around.addEventListener("click", () => showAround(began, s));
    const row = el("tr", "", withUnit(el("td", "num"), took(s.Took)), el("td", "mono", clock(began)), el("td", "mono", `${s.Comm}/${s.PID}`), el("td", "mono wrap", s.Start), el("td", "mono wrap end", s.End), el("td", "", around));
    row.dataset.took = s.Took;
    body.append(row);
  }
  $("slowest").classList.toggle("no-end", span.Slowest.every(s => !s.End));
  const more = $("more-slow"), rest = span.Slowest.length - slowShown;
  more.hidden = rest <= 0;
  more.textContent = `Show ${rest} more`;
  body.rows[focused]?.querySelector("button").focus({ preventScroll: true });
}

// showAround selects the time of a pair, and as much before and behind it, and its start in the table.
function showAround(began, slow) {
  if (trace.Kept < trace.Total && began < Number(BigInt(trace.Complete) - trace.first)) {
    $("heat-reading").textContent = "The events around this pair came too early: the page has only the newest ones.";
    return;
  }
  const room = Math.max(slow.Took, 1000);
  $("filter").value = "";
  state.off.clear();
  updateProbes(true);
  state.sort = null;
  afterFilter.push(() => {
    const at = rows.findIndex(i => {
      const ev = trace.event(i);
      return ev.time === began && ev.probe === span.Start && ev.task.PID === slow.PID;
    });
    $("events").scrollIntoView();
    $("grid").focus({ preventScroll: true });
    pick(Math.max(0, at), true);
  });
  if (!select(began - room, began + slow.Took + room + 1)) refilter();
}

function setUpLatency() {
  $("span").addEventListener("change", () => showSpan(+$("span").value));
  $("more-slow").addEventListener("click", () => { slowShown = Infinity; showSlowest(); });
  $("latency-sub").textContent = "of all pairs; quantiles of more than 1,000 are within 6 %";
  charts.push(() => {
    if (!span) return;
    drawHeat();
    drawHistogram($("latency-canvas"), span.Took, "ns", [["p50", quantile(span.Took, 0.5)], ["p99", quantile(span.Took, 0.99)]]);
  });
  selectable($("heat-canvas"), heatBox, readHeat, $("heat-reading"));
}

function updateLatency() {
  const spans = trace.Spans || [], choose = $("span");
  part("latency", spans.length > 0);
  if (!spans.length) return;
  for (const s of spans) s.Took.Buckets.sort((a, b) => a[0] - b[0]);
  while (choose.length < spans.length) choose.append(new Option("", choose.length));
  spans.forEach((s, i) => {
    const text = spans.length === 1 ? s.Name : `${s.Name} · ${plural(s.Took.Count, "pair")}, p99 ${took(quantile(s.Took, 0.99))}`;
    if (choose[i].text !== text) choose[i].text = text;
  });
  showSpan(+choose.value);
}
