// Colours come from the style sheet, which has them for light and dark.

let colors = {};
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const get = name => style.getPropertyValue("--" + name).trim();
  colors = { probes: [0, 1, 2, 3, 4, 5, 6, 7].map(i => get("c" + i)), heat: [0, 1, 2, 3, 4].map(i => rgb(get("heat" + i))) };
  for (const name of ["ink", "soft", "line", "grid", "card", "accent", "accent-soft", "mark", "mark-soft", "flame-ink", "flame-hit", "flame-hit-ink", "sans", "mono"]) colors[name] = get(name);
  colors.flame = [rgb(get("flame0")), rgb(get("flame1"))];
}

const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
const mix = (a, b, part) => `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * part)).join(" ")})`;

// heatColor returns the color of a part from 0 to 1.
function heatColor(part) {
  const at = Math.min(part, 0.9999) * (colors.heat.length - 1), i = Math.floor(at);
  return mix(colors.heat[i], colors.heat[i + 1], at - i);
}

// ownColors is how many probes have a color of their own, the most frequent ones; others share one.
const ownColors = 7;
const probeColor = probe => colors.probes[Math.min(rank[probe], ownColors)];
