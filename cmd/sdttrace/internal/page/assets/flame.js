// The flame graph: callers below, callees above their callers turned around, as icicles: the outermost on top.

const flame = { root: 0, focus: 0, totals: null, own: null, children: [], boxes: [], found: null, height: 20 };

// sumFlame adds up events by node, for one probe or all.
function sumFlame(probe) {
  const n = trace.Parents.length;
  flame.own = new Float64Array(n);
  trace.Probes.forEach((p, i) => {
    if (probe === null || probe === i) for (const [node, c] of p.Stacks || []) flame.own[node] += c;
  });
  flame.totals = Float64Array.from(flame.own);
  // A node's number is greater than that of its parent.
  for (let i = n - 1; i > 0; i--) flame.totals[trace.Parents[i]] += flame.totals[i];
  flame.children = Array.from({ length: n }, () => []);
  for (let i = 1; i < n; i++) if (flame.totals[i]) flame.children[trace.Parents[i]].push(i);
  for (const c of flame.children) c.sort((a, b) => nodeName(a) < nodeName(b) ? -1 : 1);
}

const nodeName = node => trace.Names[trace.Functions[node]];

// shortName leaves out the directories of Go's packages.
const shortName = name => /^[\w./~-]+\/[^/]+\.[^/]+$/.test(name) ? name.slice(name.lastIndexOf("/", name.search(/[([]|$/)) + 1) : name;

function ancestors(node) {
  const all = [];
  for (let n = node; n >= 0; n = trace.Parents[n]) all.push(n);
  return all.reverse();
}

function drawFlame() {
  if (!flame.totals) return;
  const canvas = $("flame-canvas"), path = ancestors(flame.root);
  // Layout first: the height follows from the depth.
  const width = canvas.getBoundingClientRect().width, boxes = [];
  let deepest = path.length;
  path.slice(0, -1).forEach((node, depth) => boxes.push({ node, depth, x: 0, w: width, above: true }));
  const place = [[flame.root, path.length - 1, 0, width]];
  while (place.length) {
    const [node, depth, x, w] = place.pop();
    boxes.push({ node, depth, x, w });
    deepest = Math.max(deepest, depth + 1);
    let at = x;
    for (const c of flame.children[node]) {
      const cw = w * flame.totals[c] / flame.totals[node];
      if (cw >= 0.4) place.push([c, depth + 1, at, cw]);
      at += cw;
    }
  }
  flame.boxes = boxes;
  canvas.style.height = Math.min(3000, Math.max(120, deepest * flame.height + 2)) + "px";
  const { g } = canvasOf(canvas);
  g.font = "11.5px " + colors.sans;
  g.textBaseline = "middle";
  for (const { node, depth, x, w, above } of boxes) {
    const y = depth * flame.height, hit = flame.found?.[node];
    g.globalAlpha = above ? 0.55 : 1;
    g.fillStyle = hit ? colors["flame-hit"] : mix(colors.flame[0], colors.flame[1], hash(nodeName(node)));
    g.fillRect(x, y, Math.max(0.4, w - (w > 2 ? 1 : 0)), flame.height - 1);
    g.globalAlpha = 1;
    if (node === flame.focus && (document.activeElement === canvas || flame.hover)) {
      g.strokeStyle = colors.ink;
      g.lineWidth = 2;
      g.strokeRect(x + 1, y + 1, Math.max(1, w - 3), flame.height - 3);
    }
    if (w > 34) {
      g.fillStyle = hit ? colors["flame-hit-ink"] : colors["flame-ink"];
      g.fillText(fit(g, node ? shortName(nodeName(node)) : "all", w - 10), x + 5, y + flame.height / 2);
    }
  }
}

function fit(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (g.measureText(text.slice(0, mid) + "…").width <= width) low = mid; else high = mid - 1;
  }
  return low > 1 ? text.slice(0, low) + "…" : "";
}

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h >>> 8) % 1000 / 1000;
}

function readFlame(node) {
  const total = flame.totals[0];
  const name = node ? nodeName(node) : "All stacks";
  let text = `${name}: ${plural(flame.totals[node], "event")}, ${percent(flame.totals[node] / total)}`;
  if (flame.own[node] && node) text += `; ${count(flame.own[node])} here itself`;
  $("flame-reading").textContent = text;
  $("flame-canvas").setAttribute("aria-label", "Flame graph, at " + text);
}

function zoomFlame(node) {
  flame.root = flame.focus = node;
  $("flame-reset").hidden = node === 0;
  readFlame(node);
  redraw();
}

function searchFlame() {
  const text = $("flame-search").value.toLowerCase();
  flame.found = null;
  $("flame-sub").textContent = flame.sub;
  if (text) {
    const names = trace.Names.map(n => n.toLowerCase().includes(text));
    flame.found = trace.Functions.map((f, node) => node > 0 && names[f] && flame.totals[node] > 0);
    // Events count once, however many of their calls are found.
    let events = 0;
    const within = new Uint8Array(trace.Parents.length);
    for (let i = 1; i < within.length; i++) {
      within[i] = within[trace.Parents[i]] || flame.found[i] ? 1 : 0;
      if (within[i]) events += flame.own[i];
    }
    const functions = new Set(trace.Functions.filter((f, node) => flame.found[node])).size;
    $("flame-sub").textContent = `${plural(functions, "function")} found, in ${plural(events, "event")} (${percent(events / flame.totals[0])})`;
    $("flame-sub").dataset.events = events;
  }
  redraw();
}

// updateFlame adds up what is known now. Nodes keep their numbers, so that what is shown in
// full width stays.
function updateFlame() {
  const choose = $("flame-probe"), known = new Set([...choose.options].map(o => o.value));
  const probes = trace.order.filter(p => trace.Probes[p].Stacks?.length);
  part("flame", probes.length > 0);
  if (!probes.length) return;
  for (const p of probes) if (!known.has(String(p))) choose.append(new Option(trace.Probes[p].Name, p));
  sumFlame(choose.value === "" ? null : +choose.value);
  flame.sub = `${plural(flame.totals[0], "event")} by the calls that led to them, the outermost on top` + (trace.Cut ? `; ${count(trace.Cut)} without their innermost calls, since there are too many` : "");
  readFlame(flame.focus);
  searchFlame();
}

function setUpFlame() {
  const choose = $("flame-probe"), canvas = $("flame-canvas");
  choose.append(new Option("all probes", ""));
  choose.addEventListener("change", () => { updateFlame(); zoomFlame(0); });
  $("flame-search").addEventListener("input", searchFlame);
  $("flame-reset").addEventListener("click", () => zoomFlame(0));
  const under = e => flame.boxes.find(b => Math.floor(e.offsetY / flame.height) === b.depth && e.offsetX >= b.x && e.offsetX < b.x + b.w);
  canvas.addEventListener("pointermove", e => {
    const box = under(e);
    flame.hover = !!box;
    canvas.style.cursor = box ? "pointer" : "";
    if (!box || box.node === flame.focus) return;
    flame.focus = box.node;
    readFlame(box.node);
    redraw();
  });
  canvas.addEventListener("pointerleave", () => { flame.hover = false; redraw(); });
  canvas.addEventListener("click", e => {
    const box = under(e);
    if (box) zoomFlame(box.node);
  });
  canvas.addEventListener("focus", () => { readFlame(flame.focus); redraw(); });
  canvas.addEventListener("blur", redraw);
  canvas.addEventListener("keydown", e => {
    const focus = flame.focus, parent = trace.Parents[focus];
    const largest = nodes => nodes.reduce((a, b) => flame.totals[b] > flame.totals[a] ? b : a);
    let next = null;
    if (e.key === "ArrowDown" && flame.children[focus].length) next = largest(flame.children[focus]);
    if (e.key === "ArrowUp" && parent >= 0) next = parent;
    if ((e.key === "ArrowLeft" || e.key === "ArrowRight") && parent >= 0) {
      const all = flame.children[parent];
      next = all[all.indexOf(focus) + (e.key === "ArrowLeft" ? -1 : 1)] ?? focus;
    }
    if (e.key === "Enter") return zoomFlame(focus);
    if (e.key === "Escape") return zoomFlame(0);
    if (next === null) return;
    e.preventDefault();
    flame.focus = next;
    readFlame(next);
    redraw();
  });
  charts.push(drawFlame);
}
