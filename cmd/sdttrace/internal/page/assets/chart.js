// All charts share this: canvases of the device's pixels, axes, a cursor and a selected time.

let trace, rank = []; // rank: of each probe, by its number of events
const state = { off: new Set(), from: null, to: null };
const charts = []; // functions that draw

// canvasOf prepares a canvas and returns its context and size in CSS pixels.
function canvasOf(canvas) {
  const ratio = devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width)), height = Math.max(1, Math.round(box.height));
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  g.font = "11px " + colors.sans;
  return { g, width, height };
}

let drawing = false;
function redraw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    for (const draw of charts) draw();
  });
}

// niceSteps returns round numbers from 0 to most.
function niceSteps(most, wanted) {
  if (!(most > 0)) return [0];
  const raw = most / wanted, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * size).find(s => s >= raw);
  const all = [];
  for (let v = 0; v <= most * 1.0001; v += step) all.push(v);
  return all;
}

// timeAxis draws times below a chart, and the selected time over it.
function timeAxis(g, box, from, to) {
  const digitsOf = step => step >= 1e9 ? 0 : Math.min(9, Math.ceil(9 - Math.log10(step)));
  const step = timeSteps.find(s => (to - from) / s <= box.width / (g.measureText(clock(from, digitsOf(s))).width + 20)) || 8.64e13;
  const origin = Number((trace.first + BigInt(trace.Zone) * 1000000000n) % BigInt(step));
  const digits = digitsOf(step);
  g.fillStyle = colors.soft;
  g.textAlign = "center";
  g.textBaseline = "top";
  for (let t = Math.ceil((from + origin) / step) * step - origin; t <= to; t += step) {
    const x = box.x + (t - from) / (to - from) * box.width;
    g.fillStyle = colors.line;
    g.fillRect(Math.round(x), box.y + box.height, 1, 4);
    const text = clock(t, digits), half = g.measureText(text).width / 2;
    if (x + half > box.x + box.width + 8) continue;
    g.fillStyle = colors.soft;
    g.fillText(text, x, box.y + box.height + 7);
  }
}

// placeLabels returns where labels fit below one another in a row, of [text, x, align]: earlier ones
// first, and none over another.
function placeLabels(g, labels, from, to) {
  const placed = [];
  for (const [text, x, align] of labels) {
    const width = g.measureText(text).width;
    const left = Math.max(from, Math.min(to - width, align === "left" ? x : align === "right" ? x - width : x - width / 2));
    if (placed.every(p => left >= p.left + p.width + 8 || left + width + 8 <= p.left)) placed.push({ text, left, width });
  }
  return placed;
}

// lossBands returns where events were lost in a chart. Bands that are close are one.
function lossBands(box, from, to) {
  const x = t => box.x + Math.min(1, Math.max(0, (t - from) / (to - from))) * box.width;
  const bands = [];
  for (const { from: a, to: b, N: n } of trace.Losses) {
    const left = Math.min(x(a), box.x + box.width - 3), right = Math.max(left + 3, x(b)), last = bands.at(-1);
    if (last && left - last.right < 6) {
      last.right = Math.max(last.right, right);
      last.n += n;
    } else bands.push({ left, right, n });
  }
  return bands;
}

// hatchLosses marks where events were lost, behind what a chart shows.
function hatchLosses(g, box, from, to) {
  g.save();
  for (const { left, right } of lossBands(box, from, to)) {
    g.fillStyle = colors["mark-soft"];
    g.fillRect(left, box.y, right - left, box.height);
    g.save();
    g.beginPath();
    g.rect(left, box.y, right - left, box.height);
    g.clip();
    g.strokeStyle = colors.mark;
    g.lineWidth = 1;
    g.beginPath();
    for (let d = Math.floor((left - box.height) / 7) * 7; d < right; d += 7) {
      g.moveTo(d, box.y + box.height);
      g.lineTo(d + box.height, box.y);
    }
    g.stroke();
    g.restore();
  }
  g.restore();
}

// nameLosses says how many events were lost, where there is room.
function nameLosses(g, box, from, to) {
  g.save();
  g.textAlign = "center";
  g.textBaseline = "top";
  for (const { left, right, n } of lossBands(box, from, to)) {
    const text = `${count(n)} lost`, room = g.measureText(text).width + 8, middle = (left + right) / 2;
    if (room > right - left) continue;
    g.fillStyle = colors.card;
    g.fillRect(middle - room / 2, box.y + 2, room, 15);
    g.fillStyle = colors.mark;
    g.fillText(text, middle, box.y + 4);
  }
  g.restore();
}

// lossNote says what hatching means; "" if there is none.
const lossNote = () => trace.Losses.length ? `; hatched where ${plural(trace.Lost, "more was", "more were")} lost` : "";

// lostAt says how many events were lost about an interval; "" if none were.
function lostAt(bin) {
  const from = binAt(bin), to = from + trace.Time.Width;
  return trace.Losses.filter(l => l.from < to && l.to >= from).map(l => ` · ${plural(l.N, "event")} lost from ${clock(l.from)} to ${clock(l.to)}`).join("");
}

function selectionOver(g, box, from, to) {
  if (state.from === null) return;
  const x = t => box.x + Math.min(1, Math.max(0, (t - from) / (to - from))) * box.width;
  const a = x(state.from), b = x(state.to);
  g.fillStyle = colors["accent-soft"];
  g.fillRect(a, box.y, Math.max(1, b - a), box.height);
  g.fillStyle = colors.accent;
  g.fillRect(a, box.y, 1, box.height);
  g.fillRect(b - 1, box.y, 1, box.height);
}

// span of all intervals, in nanoseconds since trace.first.
const timeFrom = () => Number(BigInt(trace.Time.Begin) - trace.first);
const timeTo = () => timeFrom() + trace.Time.Width * trace.Time.Bins;
const binAt = i => timeFrom() + i * trace.Time.Width;

// selectable lets a chart's time be selected by pointer and keys; read(bin) says what is at an interval.
function selectable(canvas, boxOf, read, reading) {
  let from = null, cursor = null, anchor = null;
  const binOf = x => {
    const box = boxOf();
    return Math.max(0, Math.min(trace.Time.Bins - 1, Math.floor((x - box.x) / box.width * trace.Time.Bins)));
  };
  const show = (bin, y) => {
    cursor = bin;
    canvas.cursor = bin;
    reading.textContent = bin === null ? "" : read(bin, y);
    redraw();
  };
  canvas.addEventListener("pointermove", e => {
    const bin = binOf(e.offsetX);
    show(bin, e.offsetY);
    if (from !== null && bin !== from) select(binAt(Math.min(from, bin)), binAt(Math.max(from, bin) + 1));
  });
  canvas.addEventListener("pointerdown", e => {
    from = binOf(e.offsetX);
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointerup", e => {
    if (from !== null && binOf(e.offsetX) === from && state.from !== null) select(null, null);
    from = null;
  });
  canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) show(null); });
  canvas.addEventListener("blur", () => show(null));
  canvas.addEventListener("keydown", e => {
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -32, PageDown: 32, Home: -Infinity, End: Infinity };
    if (e.key === "Escape") select(null, null);
    if (!(e.key in moves)) return;
    e.preventDefault();
    const before = cursor ?? (moves[e.key] > 0 ? -1 : trace.Time.Bins);
    const bin = Math.max(0, Math.min(trace.Time.Bins - 1, before + moves[e.key]));
    if (e.shiftKey) {
      anchor ??= Math.max(0, Math.min(trace.Time.Bins - 1, before));
      select(binAt(Math.min(anchor, bin)), binAt(Math.max(anchor, bin) + 1));
    } else anchor = null;
    show(bin);
  });
}

// select selects events from one time to another, or all. It reports whether that is news.
function select(from, to) {
  if (state.from === from && state.to === to) return false;
  state.from = from;
  state.to = to;
  const button = $("time-reset");
  button.hidden = from === null;
  if (from !== null) button.textContent = `${clock(from, 3)} – ${clock(to, 3)} ✕`;
  button.setAttribute("aria-label", "Show all times");
  refilter();
  redraw();
  return true;
}
