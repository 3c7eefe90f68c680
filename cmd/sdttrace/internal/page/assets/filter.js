// The filter: a condition in the language of --where on the events that the page holds, with two
// more: probe is the name of the probe, and a text in quotes alone looks for it in the line.

const realOf = v => typeof v !== "string" ? Number(v) : v === "NaN" ? NaN : parseFloatText(v) ?? undefined;
const addressOf = text => text === "none" ? "" : parseAddress(text) ?? undefined;

// valueOf returns what a value of the page is to a condition, by the kind of its argument; undefined
// if it could not be read. Values that are no numbers are texts as the table shows them.
const valueOf = {
  int: wholeOf, uint: wholeOf, duration: wholeOf,
  float: realOf, float32: realOf,
  bool: text => text === "true" ? true : text === "false" ? false : undefined,
  string: unquote, hex: text => /^(""|([\da-f]{2})*)(\.\.\.)?$/.test(text) ? { bytes: text.replace(/[^\da-f]/g, "").replace(/../g, pair => String.fromCharCode(parseInt(pair, 16))), more: text.endsWith("...") } : undefined,
  time: text => parseTime(text) ?? undefined,
  address: addressOf, netip: addressOf,
};

function wholeOf(v, names) {
  if (typeof v !== "string") return v;
  if (names && v in names) return names[v];
  const m = /^(-?\d+|0x[\da-f]+)([a-zA-Z]*)$/.exec(v); // with a unit
  return m ? BigInt(m[1]) : parseDuration(v) ?? undefined;
}

// unquote returns the bytes of a string, as Go quotes it.
function unquote(text) {
  const m = /^b?"(.*)"(\.\.\.)?$/s.exec(text);
  if (!m) return undefined;
  let bytes = "";
  for (let i = 0; i < m[1].length; ) {
    const c = String.fromCodePoint(m[1].codePointAt(i));
    const [read, length] = c === "\\" ? unescape(m[1].slice(i + 1), '"') : [utf8(c), c.length - 1];
    bytes += read;
    i += 1 + length;
  }
  return { bytes, more: !!m[2] };
}

// partsOf returns the elements of a list, or the fields of a struct, in a text.
function partsOf(text) {
  return text.slice(1, -1).match(/(?:[^\s"[\]{}]|"(?:[^"\\]|\\.)*"|\[(?:[^[\]"]|"(?:[^"\\]|\\.)*")*\]|\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\})+/g) || [];
}

class Missing extends ConditionError {}

// argumentOf returns the argument of a probe that a path leads to: its place, and the steps to an
// element of an array.
function argumentOf(parser, p, path, at) {
  const args = trace.Probes[p].Args || [], tops = [...new Set(args.map(a => a.Name.split(".")[0]))];
  const place = /^arg(0|[1-9]\d*)(?=[.[]|$)/.exec(path);
  if (place && !tops.includes(place[0]) && tops[place[1]] !== undefined) path = tops[place[1]] + path.slice(place[0].length);
  const exact = args.findIndex(a => a.Name === path);
  if (exact >= 0) return { arg: exact, steps: [] };
  const within = args.findIndex(a => path.startsWith(a.Name + "["));
  if (within >= 0) {
    const { Name, Kind, Size } = args[within], rest = path.slice(Name.length);
    if (Kind === "slice") throw parser.fail(at, `${Name} is a slice, whose elements have no fixed place`);
    if (Kind !== "list") throw parser.fail(at, `${Name} is not an array of values`);
    if (!/^(\[\d+\])$/.test(rest)) throw parser.fail(at, `${Name} is followed by [INDEX]`);
    const element = parseInt(rest.slice(1));
    if (Size && element >= Size) throw parser.fail(at, `${Name} has ${Size} elements`);
    return { arg: within, steps: [element] };
  }
  if (args.some(a => a.Name.startsWith(path + "."))) throw parser.fail(at, `${path} is neither a number nor a string`);
  throw new Missing(parser.input, at, `no event has an argument “${path}”; to look for a text, write it in double quotes`);
}

// inputsOf returns what names stand for at a probe, in the rows of a block.
function inputsOf(parser, block, p) {
  return (name, isString, at) => {
    const own = (trace.Probes[p].Args || []).some(a => a.Name === name);
    if (name === "pid" || name === "tid") return { kind: "uint", read: row => block.tasks[block.task[row]][name.toUpperCase()] || undefined }; // 0 is not known
    if (name === "comm") {
      const texts = block.tasks.map(t => ({ bytes: utf8(t.Comm), more: false }));
      return { kind: "string", read: row => texts[block.task[row]] };
    }
    if (!own && name === "probe") {
      const text = { bytes: utf8(trace.Probes[p].Name), more: false };
      return { kind: "string", read: () => text };
    }
    if (!own && grammar.taskKeys.includes(name)) throw parser.fail(at, `${name} is not kept in a page: --where compares it when events fire`);
    const { arg, steps } = argumentOf(parser, p, name, at), { Kind, Of, Names } = trace.Probes[p].Args[arg];
    const kind = steps.length ? Of : Kind, column = block.columns[p]?.[arg];
    if (kind && !(kind in valueOf)) throw parser.fail(at, `${name} is neither a number nor a string`);
    if (!kind || !column) return { kind, read: () => undefined };
    const names = Names && Object.fromEntries(Object.entries(Names).map(([text, n]) => [text, BigInt(n)]));
    const convert = valueOf[kind], cache = new Map();
    const ofText = text => {
      if (!cache.has(text)) {
        const part = steps.length ? partsOf(text)[steps[0]] : text;
        cache.set(text, part === undefined ? undefined : convert(part, names));
      }
      return cache.get(text);
    };
    return { kind, names: isString ? names : undefined, read: row => {
      const v = columnValue(block, column, block.ordinals[row]);
      return typeof v === "string" ? ofText(v) : v === undefined ? v : convert(v, names);
    } };
  };
}

// testsOf returns for each probe a function that says whether a row of a block passes; null for a
// probe whose events cannot, since the condition does not fit its arguments. It throws what is wrong
// if that is so for all.
function testsOf(block, parsed) {
  if (!parsed) return trace.Probes.map(() => () => true);
  let first, fits = trace.Probes.length === 0;
  const search = bytes => wordTest(block, new TextDecoder().decode(Uint8Array.from(bytes, c => c.charCodeAt(0))).toLowerCase());
  const tests = trace.Probes.map((_, p) => {
    try {
      const test = checkCondition(parsed.parser, parsed.expr, inputsOf(parsed.parser, block, p), search);
      fits = true;
      return test;
    } catch (e) {
      if (!(e instanceof ConditionError)) throw e;
      if (!first || first instanceof Missing && !(e instanceof Missing)) first = e;
      return null;
    }
  });
  if (!fits) throw first;
  return tests;
}

const noBlock = { rows: 0, strings: [], tasks: [], task: [], probes: [], ordinals: [], columns: [] };

// wordTest looks for a word in what the line of an event has: first where it is the same for many.
function wordTest(block, word) {
  const has = text => text.toLowerCase().includes(word);
  const tasks = block.tasks.map(t => has(`${t.Comm}/${t.PID}`));
  const probes = trace.Probes.map(p => has(p.Name));
  // An argument's name and its value are one word in the line.
  const [, name, rest] = /^([^=]*)=(.*)$/.exec(word) || [];
  const texts = block.strings.map(has), starts = rest === undefined ? null : block.strings.map(s => s.toLowerCase().startsWith(rest));
  const digits = /[\d.]/.test(word);
  const columns = trace.Probes.map((p, i) => (p.Args || []).map((arg, a) => ({ arg, column: block.columns[i]?.[a], name: arg.Name.toLowerCase() })).filter(c => c.column));
  for (const [i, all] of columns.entries()) if (all.some(c => (c.name + "=").includes(word))) probes[i] = true;
  return row => {
    const p = block.probes[row];
    if (probes[p] || tasks[block.task[row]]) return true;
    const at = block.ordinals[row];
    for (const { arg, column, name: known } of columns[p]) {
      if (column.kind === "text") {
        const text = column.values[at];
        if (text >= 0 && (texts[text] || starts && known.endsWith(name) && starts[text])) return true;
      } else if (digits || starts || column.others) {
        const shown = valueText(columnValue(block, column, at), arg);
        if (has(shown) || starts && has(`${known}=${shown}`)) return true;
      }
    }
    return false;
  };
}

// breathe lets the browser do what waits, and then goes on: timers would wait for a second, or
// a minute, in a tab that nobody sees.
const breathe = () => new Promise(done => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); done(); };
  port2.postMessage(null);
});

let filtering = 0;
const afterFilter = []; // what to do once the filter that runs next has ended

// refilter finds the events that are shown, in parts, so that the page stays responsive. If
// it is asked to stay, the place in the table remains, or its end, and so do the details.
async function refilter(stay = false) {
  const run = ++filtering;
  let parsed;
  const error = $("filter-error");
  try {
    parsed = parseCondition($("filter").value);
    testsOf(noBlock, parsed);
    error.hidden = true;
    $("filter").removeAttribute("aria-invalid");
  } catch (e) {
    error.textContent = e.message;
    error.hidden = false;
    $("filter").setAttribute("aria-invalid", "true");
    return;
  }
  const from = state.from ?? -Infinity, to = state.to ?? Infinity, off = trace.Probes.map((_, i) => state.off.has(i));
  const found = new Uint32Array(trace.length);
  let n = 0, began = performance.now();
  for (const [b, block] of trace.blocks.entries()) {
    const tests = testsOf(block, parsed), start = trace.starts[b];
    for (let row = 0; row < block.rows; row++) {
      const t = block.times[row];
      if (t < from || t >= to || off[block.probes[row]]) continue;
      if (tests[block.probes[row]]?.(row)) found[n++] = start + row;
    }
    if (performance.now() - began > 14) {
      await breathe();
      if (run !== filtering) return;
      began = performance.now();
    }
  }
  const atEnd = stay && grid.top >= maxTop() - 0.5;
  rows = found.subarray(0, n);
  sortRows();
  const all = n === trace.length;
  $("shown").setAttribute("aria-live", stay ? "off" : "polite"); // not once a second
  $("shown").textContent = all ? plural(n, "event") : `${count(n)} of ${plural(trace.length, "event")}`;
  $("shown").dataset.shown = n;
  showTable(stay, atEnd);
  for (const f of afterFilter.splice(0)) f();
}
