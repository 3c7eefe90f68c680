// The chart of rates: events of each interval by probe, one upon the other.

const rateBox = () => {
  const r = $("rate-canvas").getBoundingClientRect();
  return { x: 58, y: 6, width: r.width - 66, height: r.height - 34 };
};
const visibleProbes = () => trace.order.filter(p => !state.off.has(p));

function drawRate() {
  const { g } = canvasOf($("rate-canvas")), box = rateBox();
  const bins = trace.Time.Bins, seconds = trace.Time.Width / 1e9;
  const probes = visibleProbes(), total = probes.reduce((n, p) => n + trace.Probes[p].Count, 0);
  // Intervals become one that are narrower than two pixels, or have few events: chance would
  // be all that such a chart shows.
  const merge = Math.max(1, Math.ceil(bins / Math.min(box.width / 2, Math.max(60, total / 12))));
  const columns = Math.ceil(bins / merge);
  const sums = probes.map(p => {
    const out = new Float64Array(columns), rate = trace.Probes[p].Rate;
    for (let i = 0; i < rate.length; i++) out[Math.floor(i / merge)] += rate[i];
    return out;
  });
  let most = 0;
  for (let c = 0; c < columns; c++) most = Math.max(most, sums.reduce((sum, s) => sum + s[c], 0));
  const width = i => Math.min(merge, bins - i * merge);
  const scale = seconds * merge, top = most / scale || 1;
  g.textAlign = "right";
  g.textBaseline = "middle";
  for (const v of niceSteps(top, 4)) {
    const y = Math.round(box.y + box.height * (1 - v / top));
    g.fillStyle = v ? colors.grid : colors.line;
    g.fillRect(box.x, y, box.width, 1);
    g.fillStyle = colors.soft;
    if (y > 10) g.fillText(perSecond(v), box.x - 8, y);
  }
  hatchLosses(g, box, timeFrom(), timeTo());
  for (let c = 0; c < columns; c++) {
    let y = box.y + box.height;
    const x = box.x + c * merge / bins * box.width, w = width(c) / bins * box.width;
    for (let k = 0; k < probes.length; k++) {
      const h = sums[k][c] / most * box.height;
      if (!h) continue;
      g.fillStyle = probeColor(probes[k]);
      g.fillRect(x, y - h, Math.max(0.6, w - (w > 3 ? 1 : 0)), h);
      y -= h;
    }
  }
  nameLosses(g, box, timeFrom(), timeTo());
  selectionOver(g, box, timeFrom(), timeTo());
  cursorOver(g, box, $("rate-canvas").cursor);
  timeAxis(g, box, timeFrom(), timeTo());
}

function cursorOver(g, box, bin) {
  if (bin === null || bin === undefined) return;
  g.fillStyle = colors.ink;
  g.fillRect(Math.round(box.x + (bin + 0.5) / trace.Time.Bins * box.width), box.y, 1, box.height);
}

function readRate(bin) {
  const parts = visibleProbes().map(p => [trace.Probes[p].Name, trace.Probes[p].Rate[bin] || 0]).filter(p => p[1]);
  const sum = parts.reduce((s, p) => s + p[1], 0), seconds = trace.Time.Width / 1e9;
  const more = parts.length > 6 ? `, ${parts.length - 6} more` : "";
  return `${clock(binAt(bin))}, ${durationText(trace.Time.Width)}: ${plural(sum, "event")} (${perSecond(sum / seconds)})` + (parts.length ? " · " + parts.slice(0, 6).map(([name, n]) => `${name} ${count(n)}`).join(" · ") + more : "") + lostAt(bin);
}

// legendOf makes the button that shows and hides a probe.
function legendOf(p) {
  const button = el("button", "", el("i", ""), trace.Probes[p].Name, el("span", "n"));
  button.type = "button";
  button.dataset.probe = trace.Probes[p].Name;
  button.title = "Click: show or hide. Double-click, or with Shift: show only this one";
  const only = () => {
    const alone = visibleProbes().length === 1 && !state.off.has(p);
    state.off = new Set(alone ? [] : trace.order.filter(other => other !== p));
    updateProbes();
  };
  button.addEventListener("click", e => {
    if (e.shiftKey) return only();
    if (state.off.has(p)) state.off.delete(p); else state.off.add(p);
    updateProbes();
  });
  button.addEventListener("dblclick", e => { if (!e.shiftKey) only(); });
  return button;
}

// foldRest gathers the probes that share a color, unless it is a single one.
function foldRest() {
  const legend = $("legend"), rest = [...legend.querySelectorAll("[data-probe]")].slice(ownColors);
  if (rest.length < 2) return;
  let others = legend.querySelector("details");
  if (!others) legend.append(others = el("details", "", el("summary", "", el("i", ""), el("span", ""), el("span", "n"))));
  const [mark, name, n] = others.firstChild.children;
  mark.style.background = colors.probes[ownColors];
  name.textContent = `${rest.length} others`;
  n.textContent = count(trace.order.slice(ownColors).reduce((sum, p) => sum + trace.Probes[p].Count, 0));
  for (const button of rest) if (button.parentNode !== others) others.append(button);
}

function setUpRate() {
  selectable($("rate-canvas"), rateBox, readRate, $("rate-reading"));
  charts.push(drawRate);
}

function updateRate() {
  const legend = $("legend");
  trace.order.forEach((p, i) => {
    const all = legend.querySelectorAll("[data-probe]"), button = all[i] || legendOf(p);
    if (i === all.length) legend.append(button);
    button.dataset.count = trace.Probes[p].Count;
    // The events of pairs are no events of their own.
    button.hidden = !trace.Probes[p].Count && (trace.Spans || []).some(s => s.Start === p || s.End === p);
    button.querySelector(".n").textContent = count(trace.Probes[p].Count);
  });
  foldRest();
  updateProbes(true);
  $("rate-sub").textContent = `of all ${plural(trace.Total, "event")}` + lossNote();
  $("rate-canvas").setAttribute("aria-label", `Events by time and probe: ${trace.order.slice(0, 8).map(p => `${trace.Probes[p].Name} ${trace.Probes[p].Count}`).join(", ")}`);
}

function updateProbes(first) {
  for (const [i, button] of [...$("legend").querySelectorAll("[data-probe]")].entries()) {
    button.setAttribute("aria-pressed", String(!state.off.has(trace.order[i])));
    button.querySelector("i").style.background = probeColor(trace.order[i]);
  }
  if (!first) {
    refilter();
    redraw();
  }
}
