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

// quantile returns what a part of the values do not exceed, as its bucket tells.
function quantile(values, part) {
  const want = Math.ceil(part * values.Count);
  let seen = 0;
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

// barsOf returns [low, high, count] of as many bars as there is room for: in equal steps where
// numbers are near each other or of both signs, otherwise by powers of two.
function barsOf(values, most) {
  const { Min: min, Max: max } = values;
  if (min === max) return { bars: [[min, max, values.Count]] };
  const whole = Number.isInteger(min) && Number.isInteger(max);
  return min < 0 || max <= 10 * quantile(values, 0.5) || whole && max < 16 ? { bars: evenBars(values, most, whole) } : { bars: powerBars(values, most, whole), powers: true };
}

// evenBars divides what is in a bucket among the bars that it is in.
function evenBars({ Min: min, Max: max, Buckets: buckets }, most, whole) {
  const end = whole ? max + 1 : max; // a whole number reaches up to the next one
  let step = (end - min) / Math.min(most, 40);
  if (whole) step = Math.max(1, Math.ceil(step));
  const n = Math.max(1, Math.ceil((end - min) / step * 0.999999)), bars = [];
  for (let i = 0; i < n; i++) bars.push([min + i * step, min + (i + 1) * step, 0]);
  for (const [b, count] of buckets) {
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
  const { bars } = barsOf(values, Math.floor(box.width / 7));
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
  const shown = bars.length === 1 ? [0] : box.width > 420 ? [0, 1 / 4, 1 / 2, 3 / 4, 1] : [0, 1 / 2, 1];
  for (const part of shown) {
    const i = Math.round(part * (bars.length - 1)), x = box.x + (i + part) * w;
    g.textAlign = part === 0 ? "left" : part === 1 && w * bars.length > box.width - 40 ? "right" : "center";
    const v = part === 0 ? values.Min : part === 1 ? values.Max : bars[i][0];
    g.fillText(quantity(v, unit), x, box.y + box.height + 6);
  }
  for (const [name, v] of marks) {
    let i = bars.findIndex(b => v < b[1]);
    if (i < 0) i = bars.length - 1;
    const [low, high] = bars[i], x = Math.round(box.x + (i + (high > low ? Math.min(1, Math.max(0, (v - low) / (high - low))) : 0.5)) * w);
    g.fillStyle = colors.mark;
    g.fillRect(x, box.y - 14, 1, box.height + 14);
    g.textAlign = x > width - 30 ? "right" : "left";
    g.textBaseline = "bottom";
    g.fillText(name, x + (x > width - 30 ? -3 : 3), box.y - 3);
  }
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
      const figures = `${plural(v.Count, "value")} · mean ${quantity(v.Sum / v.Count, arg.Unit)} · median ≈ ${quantity(quantile(v, 0.5), arg.Unit)} · p99 ≈ ${quantity(quantile(v, 0.99), arg.Unit)}`;
      canvas.setAttribute("aria-label", `Histogram of ${arg.Name}: ${figures}, from ${quantity(v.Min, arg.Unit)} to ${quantity(v.Max, arg.Unit)}`);
      card.lastChild.textContent = figures + (barsOf(v, 40).powers ? " · by powers of two" : "");
      Object.assign(card.dataset, { count: v.Count, min: v.Min, max: v.Max, sum: v.Sum });
    }
  }
  $("numbers-sub").textContent = "of all events; medians and p99 are within 6 %" + (all > most ? `; ${all - most} more are not drawn` : "");
  const more = same.length > most ? `, and ${same.length - most} more` : "";
  $("numbers-same").textContent = same.length ? `Always the same: ${same.slice(0, most).join(", ")}${more}` : "";
  part("numbers", all + same.length > 0);
}

// part shows a section and its link, or not.
function part(id, shown) {
  $(id).hidden = !shown;
  document.querySelector(`nav a[href="#${id}"]`).hidden = !shown;
}
