// The table: as many lines as there is room for, of as many events as there are.

let rows = new Uint32Array(0);
// set is where the program has scrolled to, until the user scrolls.
const grid = { head: "", top: 0, picked: 0, height: 26, columns: [], set: null };
// Browsers bound the height of elements: what is higher scrolls by parts of the whole.
const maxHeight = 4e6;

const visibleLines = () => Math.max(1, Math.floor(($("grid").clientHeight - $("grid-head").offsetHeight) / grid.height));
const maxTop = () => Math.max(0, rows.length - visibleLines());

// setColumns chooses columns: of one probe, each argument has one.
function setColumns() {
  const probes = visibleProbes();
  const number = v => typeof v === "number" || typeof v === "bigint";
  const columns = [
    { name: "Time", width: "16ch", sort: ev => ev.time, text: ev => clock(ev.time) },
    { name: "Process", width: "minmax(14ch, 22ch)", sort: ev => ev.task.Comm, text: ev => `${ev.task.Comm}/${ev.task.PID || "?"}` },
    { name: "Thread", width: "8ch", numeric: true, sort: ev => ev.task.TID, text: ev => ev.task.TID ? String(ev.task.TID) : "–" },
  ];
  const args = probes.length === 1 ? trace.Probes[probes[0]].Args || [] : [];
  if (probes.length === 1 && args.length > 0 && args.length <= 12) {
    args.forEach((arg, a) => {
      const numeric = !!arg.Values;
      columns.push({ name: arg.Name, numeric, width: numeric ? "minmax(9ch, 1fr)" : "minmax(12ch, 3fr)", sort: ev => { const v = trace.value(ev, a); return number(v) ? Number(v) : v ?? ""; }, text: ev => valueText(trace.value(ev, a), arg) });
    });
  } else {
    const longest = Math.max(...probes.map(p => trace.Probes[p].Name.length), 0) + 3; // its mark
    columns.push({ name: "Probe", width: `minmax(18ch, ${Math.max(18, Math.min(48, longest))}ch)`, sort: ev => trace.Probes[ev.probe].Name, probe: true });
    columns.push({ name: "Arguments", width: "minmax(20ch, 1fr)", args: true });
  }
  grid.columns = columns;
  if (state.sort && !columns.some(c => c.name === state.sort.name && c.sort)) state.sort = null;
  $("grid").style.setProperty("--columns", columns.map(c => c.width).join(" "));
  // Where there is less room, the table scrolls.
  $("grid").style.setProperty("--least", `calc(${columns.reduce((sum, c) => sum + +/\d+/.exec(c.width), 0)}ch + ${24 + 14 * (columns.length - 1)}px)`);
  const head = $("grid-head");
  const all = JSON.stringify([columns.map(c => [c.name, c.width, c.numeric]), state.sort]);
  if (grid.head === all) return; // the focus may be in it
  grid.head = all;
  head.textContent = "";
  for (const c of columns) {
    const cell = el("div", c.numeric ? "num" : "");
    cell.setAttribute("role", "columnheader");
    const sorted = state.sort?.name === c.name ? state.sort.down : null;
    cell.setAttribute("aria-sort", sorted === null ? "none" : sorted ? "descending" : "ascending");
    if (c.sort) {
      const button = el("button", "", c.name + (sorted === null ? "" : sorted ? " ↓" : " ↑"));
      button.type = "button";
      button.dataset.column = c.name;
      button.addEventListener("click", () => {
        const again = state.sort?.name === c.name;
        state.sort = again && state.sort.down !== !c.numeric ? null : { name: c.name, down: again ? !state.sort.down : !!c.numeric };
        refilter();
      });
      cell.append(button);
    } else cell.append(el("span", "", c.name));
    head.append(cell);
  }
}

// sortRows puts events into the order that is asked for; those of equal values stay as they came.
function sortRows() {
  setColumns();
  const column = state.sort && grid.columns.find(c => c.name === state.sort.name);
  if (!column && trace.inOrder || rows.length < 2) return;
  const key = column ? column.sort : ev => ev.time, keys = new Array(rows.length), order = new Uint32Array(rows.length);
  for (let i = 0; i < rows.length; i++) keys[i] = key(trace.event(rows[i]));
  for (let i = 0; i < order.length; i++) order[i] = i;
  const sign = state.sort?.down ? -1 : 1;
  const texts = keys.some(k => typeof k !== "number");
  order.sort(texts
    ? (a, b) => { const x = String(keys[a]), y = String(keys[b]); return x < y ? -sign : x > y ? sign : a - b; }
    : (a, b) => sign * (keys[a] - keys[b]) || a - b);
  rows = Uint32Array.from(order, i => rows[i]);
}

function showTable(stay, atEnd) {
  const space = $("grid-space");
  space.style.height = Math.min(maxHeight, rows.length * grid.height + 2) + "px";
  grid.picked = Math.min(grid.picked, Math.max(0, rows.length - 1));
  grid.top = atEnd ? maxTop() : Math.min(grid.top, maxTop());
  $("grid").setAttribute("aria-rowcount", rows.length + 1);
  if (!stay) $("detail").hidden = true;
  scrollToLine(grid.top);
}

// scrollToLine shows the table from a line on.
function scrollToLine(top) {
  grid.top = Math.max(0, Math.min(maxTop(), top));
  const view = $("grid"), range = view.scrollHeight - view.clientHeight;
  const want = maxTop() ? Math.round(grid.top / maxTop() * range) : 0;
  if (Math.abs(view.scrollTop - want) > 1) view.scrollTop = want;
  grid.set = view.scrollTop;
  drawRows();
}

function drawRows() {
  const into = $("grid-rows"), first = Math.floor(grid.top), lines = visibleLines() + 2;
  into.textContent = "";
  into.style.transform = `translateY(${-(grid.top - first) * grid.height}px)`;
  if (!rows.length) {
    const line = el("div", "row", el("span", "none", "no event passes"));
    line.setAttribute("role", "row");
    line.firstChild.setAttribute("role", "gridcell");
    into.append(line);
  }
  for (let i = first; i < Math.min(rows.length, first + lines); i++) into.append(lineOf(i));
  if ($("picked-row")) $("grid").setAttribute("aria-activedescendant", "picked-row");
  else $("grid").removeAttribute("aria-activedescendant");
}

function lineOf(i) {
  const ev = trace.event(rows[i]);
  const line = el("div", "row" + (i % 2 ? " odd" : "") + (i === grid.picked ? " picked" : ""));
  line.setAttribute("role", "row");
  line.setAttribute("aria-rowindex", i + 2);
  line.setAttribute("aria-selected", String(i === grid.picked));
  if (i === grid.picked) line.id = "picked-row";
  for (const c of grid.columns) {
    const cell = el("span", c.numeric ? "num" : "");
    cell.setAttribute("role", "gridcell");
    if (c.probe) {
      const mark = el("i", "");
      mark.style.background = probeColor(ev.probe);
      cell.append(mark, trace.Probes[ev.probe].Name);
    } else if (c.args) appendArgs(cell, ev);
    else cell.textContent = c.text(ev);
    line.append(cell);
  }
  return line;
}

function appendArgs(cell, ev) {
  (trace.Probes[ev.probe].Args || []).forEach((arg, a) => {
    const v = trace.value(ev, a);
    if (v === undefined) return;
    if (cell.childNodes.length) cell.append(" ");
    cell.append(el("b", "", arg.Name + "="), valueText(v, arg));
  });
}

// pick marks a line, and scrolls to where it is seen, in the middle if that is asked for.
function pick(i, middle) {
  if (!rows.length) return;
  grid.picked = Math.max(0, Math.min(rows.length - 1, i));
  const lines = visibleLines();
  let top = grid.top;
  if (grid.picked < Math.ceil(top)) top = grid.picked;
  if (grid.picked > top + lines - 1) top = grid.picked - lines + 1;
  if (middle) top = grid.picked - Math.floor(lines / 2);
  scrollToLine(top);
  if (!$("detail").hidden) showDetail();
}

function showDetail() {
  const detail = $("detail"), ev = trace.event(rows[grid.picked]);
  detail.textContent = "";
  const close = el("button", "", "Close");
  close.type = "button";
  close.addEventListener("click", () => { detail.hidden = true; $("grid").focus(); });
  const list = el("dl", "");
  const add = (name, text) => list.append(el("dt", "", name), el("dd", "", text));
  add("time", `${day(ev.time)} ${clock(ev.time, 9)}`);
  add("process", `${ev.task.Comm}/${ev.task.PID || "?"}` + (ev.task.TID ? `, thread ${ev.task.TID}` : ""));
  (trace.Probes[ev.probe].Args || []).forEach((arg, a) => {
    const v = trace.value(ev, a);
    if (v !== undefined) add(arg.Name, valueText(v, arg));
  });
  const head = el("div", "head", el("h3", "", trace.Probes[ev.probe].Name), close);
  close.style.marginLeft = "auto";
  detail.append(head, list);
  if (ev.node) {
    const calls = el("ol", "");
    for (const node of ancestors(ev.node).reverse()) if (node) calls.append(el("li", "", nodeName(node)));
    detail.append(calls);
  }
  detail.hidden = false;
}

function setUpTable() {
  const view = $("grid");
  view.addEventListener("scroll", () => {
    // One event may stand for several scrolls, or for one to the side.
    if (grid.set !== null && Math.abs(view.scrollTop - grid.set) <= 1) return;
    grid.set = null;
    const range = view.scrollHeight - view.clientHeight;
    grid.top = range > 0 ? view.scrollTop / range * maxTop() : 0;
    drawRows();
  });
  // A row that is pressed may be drawn anew before it is released, while events come.
  view.addEventListener("click", e => {
    const into = $("grid-rows"), i = Math.floor(grid.top) + Math.floor((e.clientY - into.getBoundingClientRect().top) / grid.height);
    if (i >= rows.length || e.target !== into && !into.contains(e.target)) return;
    pick(i);
    showDetail();
  });
  // A wheel moves by lines, however many a pixel of the scroll bar stands for.
  view.addEventListener("wheel", e => {
    if (e.shiftKey || e.ctrlKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) return; // to the side, or a zoom
    const lines = e.deltaY / (e.deltaMode === 1 ? 1 : grid.height), before = grid.top;
    scrollToLine(grid.top + lines);
    if (grid.top !== before) e.preventDefault();
  }, { passive: false });
  view.addEventListener("keydown", e => {
    if (e.target !== view) return;
    const page = visibleLines() - 1;
    const to = { ArrowDown: grid.picked + 1, ArrowUp: grid.picked - 1, PageDown: grid.picked + page, PageUp: grid.picked - page, Home: 0, End: rows.length - 1 }[e.key];
    if (to !== undefined) {
      e.preventDefault();
      pick(to);
    } else if (e.key === "Enter" && rows.length) showDetail();
    else if (e.key === "Escape" && !$("detail").hidden) $("detail").hidden = true;
  });
  $("detail").addEventListener("keydown", e => {
    if (e.key !== "Escape") return;
    $("detail").hidden = true;
    view.focus();
  });
  let wait = 0;
  $("filter").addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => { grid.top = grid.picked = 0; refilter(); }, 120);
  });
  $("time-reset").addEventListener("click", () => select(null, null));
  charts.push(drawRows);
}
