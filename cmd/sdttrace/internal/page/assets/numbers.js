// Histograms. Buckets are eight from each power of two to the next, as the command counts them.

const perOctave = 8, bias = 1074;

// bucketBounds returns the least number of a bucket, and the one behind the largest.
function bucketBounds(b) {
  if (b === 0) return [0, 0];
  const n = Math.abs(b), e = Math.floor(n / perOctave) - bias, i = n % perOctave;
  // 2 ** -1074 is the smallest number there is, so that halves are taken last.
  const low = (1 + i / perOctave) * 2 ** (e - 1), high = (1 + (i + 1) / perOctave) * 2 ** (e - 1);
  return b < 0 ? [-high, -low] : [low, high];
}

// quantile returns what a part of the values do not exceed, as its bucket tells if too many are
// distinct to be counted one by one.
function quantile(values, part) {
  const want = Math.ceil(part * values.Count);
  let seen = 0;
  for (const [v, n] of values.Exact || []) if ((seen += n) >= want) return v;
  for (const [b, n] of values.Buckets) {
    seen += n;
    if (seen >= want) {
      const [low, high] = bucketBounds(b);
      const least = Math.max(values.Min, low), most = Math.min(values.Max, high), sum = least + most;
      return Number.isFinite(sum) ? sum / 2 : least / 2 + most / 2; // halves of the smallest numbers are zero
    }
  }
  return values.Max;
}

// barsOf returns [low, high, count] of as many bars as there is room for: one for each of a few
// whole numbers that come again and are far apart, such as a status; in equal steps where numbers
// are near each other or of both signs, otherwise by powers of two.
function barsOf(values, most) {
  const { Min: min, Max: max, Exact: exact } = values;
  if (min === max) return { bars: [[min, max, values.Count]] };
  const whole = exact ? exact.every(([v]) => Number.isInteger(v)) : Number.isInteger(min) && Number.isInteger(max);
  if (exact && whole && max - min >= 40 && exact.length <= 16 && values.Count >= 4 * exact.length) return { bars: exact.map(([v, n], i) => [v, exact[i + 1]?.[0] ?? v, n]), apart: true };
  return min < 0 || max <= 10 * quantile(values, 0.5) || whole && max < 16 ? { bars: evenBars(values, most, whole) } : { bars: powerBars(values, most, whole), powers: true };
}

// evenBars divides what is in a bucket among the bars that it is in.
function evenBars({ Min: min, Max: max, Buckets: buckets, Exact: exact }, most, whole) {
  const end = whole ? max + 1 : max; // a whole number reaches up to the next one
  let step = (end - min) / Math.min(most, 40);
  if (whole) step = Math.max(1, Math.ceil(step));
  const n = Math.max(1, Math.ceil((end - min) / step * 0.999999)), bars = [];
  for (let i = 0; i < n; i++) bars.push([min + i * step, min + (i + 1) * step, 0]);
  for (const [v, count] of exact || []) (bars[Math.min(n - 1, Math.floor((v - min) / step))] || [])[2] += count;
  for (const [b, count] of exact ? [] : buckets) {
    let [low, high] = bucketBounds(b);
    if (whole) [low, high] = b < 0 ? [Math.floor(low) + 1, Math.floor(high) + 1] : [Math.ceil(low), Math.max(Math.ceil(high), Math.ceil(low) + 1)];
    [low, high] = [Math.max(low, min), Math.min(high, end)];
    const first = Math.max(0, Math.min(n - 1, Math.floor((low - min) / step)));
    if (!(high > low)) { bars[first][2] += count; continue; }
    for (let i = first; i < n && bars[i][0] < high; i++) bars[i][2] += count * Math.max(0, Math.min(high, bars[i][1]) - Math.max(low, bars[i][0])) / (high - low);
  }
  return bars;
}

function powerBars({ Min: min, Buckets: buckets }, most, whole) {
  // Bars that are narrower than one would stand apart where numbers are whole.
  let merge = 1;
  while (whole && merge < perOctave && merge < perOctave / Math.max(1, min)) merge *= 2;
  for (; ; merge *= 2) {
    const sums = new Map();
    for (const [b, n] of buckets) sums.set(Math.floor(b / merge), (sums.get(Math.floor(b / merge)) || 0) + n);
    const keys = [...sums.keys()].sort((a, b) => a - b), zero = keys[0] === 0 && keys.length > 1;
    const first = zero ? keys[1] : keys[0]; // zero is far from all others
    if (keys.at(-1) - first + 1 > most && merge < 1 << 16) continue;
    const all = Array.from({ length: keys.at(-1) - first + 1 }, (_, i) => first + i);
    if (zero) all.unshift(0);
    return all.map(k => [k ? bucketBounds(k * merge)[0] : 0, bucketBounds(k * merge + merge - 1)[1], sums.get(k) || 0]);
  }
}

// drawHistogram draws values, with marks at quantiles.
function drawHistogram(canvas, values, unit, marks = []) {
  const { g, width, height } = canvasOf(canvas);
  const box = { x: 1, y: marks.length ? 18 : 4, width: width - 2, height: height - (marks.length ? 40 : 24) };
  const { bars, apart } = barsOf(values, Math.floor(box.width / 7));
  const most = Math.max(...bars.map(b => b[2])), w = Math.min(48, box.width / bars.length);
  g.fillStyle = colors.line;
  g.fillRect(box.x, box.y + box.height, box.width, 1);
  g.fillStyle = colors.probes[0];
  bars.forEach(([, , n], i) => {
    if (!n) return;
    const h = Math.max(1.5, n / most * box.height);
    g.fillRect(box.x + i * w, box.y + box.height - h, Math.max(1, w - 1), h);
  });
  g.fillStyle = colors.soft;
  g.textBaseline = "top";
  const labels = apart ? bars.map(([v], i) => [quantity(v, unit), box.x + (i + 0.5) * w, "center"]) : (bars.length === 1 ? [0] : [0, 1, 1 / 2, 1 / 4, 3 / 4]).map(part => {
    const i = Math.round(part * (bars.length - 1)), v = part === 0 ? values.Min : part === 1 ? values.Max : bars[i][0];
    return [quantity(v, unit), box.x + (i + Math.floor(part)) * w, part === 0 ? "left" : part === 1 ? "right" : "center"];
  });
  g.textAlign = "left";
  for (const { text, left } of placeLabels(g, labels, box.x, box.x + box.width)) g.fillText(text, left, box.y + box.height + 6);
  const names = [];
  for (const [name, v] of marks) {
    let i = bars.findIndex(b => v < b[1]);
    if (i < 0) i = bars.length - 1;
    const [low, high] = bars[i], x = Math.round(box.x + (i + (high > low ? Math.min(1, Math.max(0, (v - low) / (high - low))) : 0.5)) * w);
    g.fillStyle = colors.mark;
    g.fillRect(x, box.y - 14, 1, box.height + 14);
    names.push(x > width - 30 ? [name, x - 3, "right"] : [name, x + 3, "left"]);
  }
  g.textBaseline = "bottom";
  for (const { text, left } of placeLabels(g, names, 0, width)) g.fillText(text, left, box.y - 3);
}

const cards = new Map(); // by probe and argument

// cardOf makes the card of an argument.
function cardOf(p, arg) {
  const canvas = el("canvas", "");
  canvas.setAttribute("role", "img");
  const card = el("div", "card", el("h3", "", arg.Name), el("p", "", trace.Probes[p].Name), canvas, el("p", ""));
  Object.assign(card.dataset, { probe: trace.Probes[p].Name, arg: arg.Name });
  $("cards").append(card);
  return { card, canvas };
}

function setUpNumbers() {
  charts.push(() => { for (const { canvas, arg } of cards.values()) drawHistogram(canvas, arg.Values, arg.Unit); });
}

function updateNumbers() {
  const most = 60, same = [];
  let all = 0;
  for (const p of trace.order) {
    for (const [a, arg] of (trace.Probes[p].Args || []).entries()) {
      const v = arg.Values, key = `${p} ${a}`;
      // Nobody asks how addresses are distributed.
      if (!v || arg.Unit === "" && v.Min > 2 ** 40 && !cards.has(key)) continue;
      if (v.Min === v.Max && !cards.has(key)) {
        same.push(`${trace.Probes[p].Name} ${arg.Name} = ${quantity(v.Min, arg.Unit)}`);
        continue;
      }
      if (all++ >= most && !cards.has(key)) continue;
      v.Buckets.sort((a, b) => a[0] - b[0]);
      if (!cards.has(key)) cards.set(key, cardOf(p, arg));
      const shown = cards.get(key), { card, canvas } = shown;
      shown.arg = arg;
      const figures = `${plural(v.Count, "value")} · mean ${figure(v.Sum / v.Count, arg.Unit)} · median ${figure(quantile(v, 0.5), arg.Unit)} · p99 ${figure(quantile(v, 0.99), arg.Unit)}`;
      canvas.setAttribute("aria-label", `Histogram of ${arg.Name}: ${figures}, from ${quantity(v.Min, arg.Unit)} to ${quantity(v.Max, arg.Unit)}`);
      const { powers, apart } = barsOf(v, 40);
      card.lastChild.textContent = figures + (powers ? " · by powers of two" : apart ? " · a bar for each value" : "");
      Object.assign(card.dataset, { count: v.Count, min: v.Min, max: v.Max, sum: v.Sum });
    }
  }
  $("numbers-sub").textContent = "of all events; medians and p99 of more than 64 distinct values are within 6 %" + (all > most ? `; ${all - most} more are not drawn` : "");
  const more = same.length > most ? `, and ${same.length - most} more` : "";
  $("numbers-same").textContent = same.length ? `Always the same: ${same.slice(0, most).join(", ")}${more}` : "";
  part("numbers", all + same.length > 0);
}

// part shows a section and its link, or not.
function part(id, shown) {
  $(id).hidden = !shown;
  document.querySelector(`nav a[href="#${id}"]`).hidden = !shown;
}
