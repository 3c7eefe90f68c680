// The filter: words that a line must have, or not, and comparisons of arguments.

const operators = {
  "=": (a, b) => a === b, "!=": (a, b) => a !== b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
};
const timeUnits = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 6e10 };

// parseFilter returns the terms of a filter. It throws an error that says what is wrong.
function parseFilter(text) {
  const terms = [], pattern = /\s*(-?)(?:([\p{L}_][\p{L}\p{N}_.]*)(!=|<=|>=|=|<|>|~)("(?:[^"\\]|\\.)*"?|\S*)|"((?:[^"\\]|\\.)*)"?|(\S+))/uy;
  while (pattern.lastIndex < text.trimEnd().length) {
    const m = pattern.exec(text);
    if (!m) break;
    const [, not, name, op, operand, quoted, word] = m;
    if (name === undefined) {
      const w = (quoted ?? word).toLowerCase();
      if (w) terms.push({ not: !!not, word: w });
      continue;
    }
    const value = operand.replace(/^"|"$/g, "");
    if (!value && op !== "=" && op !== "!=") continue; // that is still being written
    const number = /^(-?[\d.]+(?:e[+-]?\d+)?|0x[\da-f]+)(ns|us|µs|ms|s|m)?$/i.exec(value);
    const n = number ? Number(number[1]) * (number[2] ? timeUnits[number[2]] : 1) : NaN;
    if (/[<>]/.test(op) && Number.isNaN(n)) throw new Error(`${name}${op} wants a number, not “${value}”`);
    const known = ["pid", "tid", "comm", "probe"].includes(name) || trace.Probes.some(p => (p.Args || []).some(a => a.Name === name));
    if (!known) throw new Error(`no event has an argument “${name}”`);
    terms.push({ not: !!not, name, op, value: value.toLowerCase(), number: n, big: number && !number[2] && /^-?\d+$/.test(number[1]) ? BigInt(number[1]) : null });
  }
  return terms;
}

// compare compares a value of an event with the operand of a term.
function compare(v, term) {
  if (v === undefined) return false;
  if (term.op === "~") return String(v).toLowerCase().includes(term.value);
  if (typeof v === "bigint") return term.big !== null ? operators[term.op](v, term.big) : operators[term.op](Number(v), term.number);
  if (typeof v === "number") return Number.isNaN(term.number) ? term.op === "!=" : operators[term.op](v, term.number);
  const text = plain(v).toLowerCase();
  return /[<>]/.test(term.op) ? operators[term.op](Number(text), term.number) : operators[term.op](text, term.value);
}

// plain returns text without the quotes that it is shown with.
const plain = text => text.length > 1 && text[0] === '"' && text.endsWith('"') ? text.slice(1, -1) : text;

// testsOf returns functions that say for each event of a block whether it passes, one for each term.
function testsOf(block, terms) {
  return terms.map(term => {
    const test = term.word ? wordTest(block, term.word) : nameTest(block, term);
    return term.not ? row => !test(row) : test;
  });
}

function nameTest(block, term) {
  const { name } = term;
  if (name === "pid" || name === "tid" || name === "comm") {
    const by = block.tasks.map(t => compare(name === "pid" ? t.PID : name === "tid" ? t.TID : t.Comm, term));
    return row => by[block.task[row]];
  }
  if (name === "probe") {
    const by = trace.Probes.map(p => compare(p.Name, term));
    return row => by[block.probes[row]];
  }
  const columns = trace.Probes.map((p, i) => {
    const a = (p.Args || []).findIndex(a => a.Name === name);
    return a < 0 ? null : block.columns[i]?.[a];
  });
  const texts = block.strings.map(s => compare(s, term));
  return row => {
    const column = columns[block.probes[row]];
    if (!column) return false;
    const at = block.ordinals[row];
    if (column.kind === "text") return column.values[at] >= 0 && texts[column.values[at]];
    return compare(columnValue(block, column, at), term);
  };
}

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
  let terms;
  const error = $("filter-error");
  try {
    terms = parseFilter($("filter").value);
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
    const tests = testsOf(block, terms), start = trace.starts[b];
    next: for (let row = 0; row < block.rows; row++) {
      const t = block.times[row];
      if (t < from || t >= to || off[block.probes[row]]) continue;
      for (const test of tests) if (!test(row)) continue next;
      found[n++] = start + row;
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
