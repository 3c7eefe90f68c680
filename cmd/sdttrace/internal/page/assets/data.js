// The contents of the page, decoded: contents, and the events in blocks of columns.

const $ = id => document.getElementById(id);

async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Deltas reads integers that are written as differences, each zigzag-encoded in groups of 7 bits.
class Deltas {
  constructor(bytes, at) { this.bytes = bytes; this.at = at; }
  read(into) {
    const bytes = this.bytes;
    let at = this.at, last = 0;
    for (let i = 0; i < into.length; i++) {
      let b = bytes[at++], v = b & 127, scale = 128;
      while (b > 127) {
        b = bytes[at++];
        v += (b & 127) * scale;
        scale *= 128;
      }
      last += v % 2 ? -(v + 1) / 2 : v / 2;
      into[i] = last;
    }
    this.at = at;
    return into;
  }
}

function wide(bytes, at, rows, Type) {
  return new Type(bytes.slice(at, at + 8 * rows).buffer);
}

// decodeBlock returns a block: typed arrays of equal length, and the columns of each probe's
// arguments. ordinal has for each event how many of its probe are before it.
function decodeBlock(bytes, first) {
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const n = head.Rows, deltas = new Deltas(bytes, 4 + size);
  const block = {
    rows: n, strings: head.Strings || [], tasks: head.Tasks,
    times: deltas.read(new Float64Array(n)), probes: deltas.read(new Uint16Array(n)),
    task: deltas.read(new Uint16Array(n)), nodes: deltas.read(new Uint32Array(n)),
    ordinals: new Uint16Array(n), columns: [],
  };
  const shift = Number(BigInt(head.Begin) - first);
  const seen = [];
  for (let i = 0; i < n; i++) {
    block.times[i] += shift;
    const p = block.probes[i];
    block.ordinals[i] = seen[p] || 0;
    seen[p] = block.ordinals[i] + 1;
  }
  block.inOrder = inOrder(block.times);
  for (const c of head.Columns || []) {
    const others = c.Others ? new Map(Object.entries(c.Others).map(([row, text]) => [+row, text])) : null;
    let values;
    if (c.Kind === "text") values = deltas.read(new Int32Array(c.Rows));
    else if (c.Kind === "int") values = deltas.read(new Float64Array(c.Rows));
    else {
      values = wide(bytes, deltas.at, c.Rows, { signed: BigInt64Array, unsigned: BigUint64Array, float: Float64Array }[c.Kind]);
      deltas.at += 8 * c.Rows;
    }
    (block.columns[c.Probe] ||= [])[c.Arg] = { kind: c.Kind, values, others };
  }
  return block;
}

// inOrder reports whether no time is before the one in front of it, of numbers.
function inOrder(times) {
  for (let i = 1; i < times.length; i++) if (times[i] < times[i - 1]) return false;
  return true;
}

// Trace is all events that the page holds, numbered as they came.
class Trace {
  blocks = [];
  starts = []; // numbers of the blocks' first events
  length = 0;
  inOrder = true;
  order = []; // numbers of the probes, the most frequent ones first
  // describe takes over counts, charts and names. Those of later may follow: times stay
  // relative to the first one known, and probes keep their places, and so their colors.
  describe(contents) {
    if (!this.Total) this.first = BigInt(contents.Total ? contents.First : contents.Time.Begin);
    Object.assign(this, contents);
    this.Probes ||= [];
    this.Losses = (this.Losses || []).map(l => ({ ...l, from: Number(BigInt(l.From) - this.first), to: Number(BigInt(l.To) - this.first) }));
    for (const p of this.Probes) p.Rate ||= [];
    const known = new Set(this.order);
    const more = this.Probes.map((_, i) => i).filter(i => !known.has(i));
    this.order.push(...more.sort((a, b) => this.Probes[b].Count - this.Probes[a].Count || a - b));
    this.order.forEach((p, i) => rank[p] = i);
  }
  // hold takes over all events.
  hold(blocks) {
    this.blocks = blocks;
    this.starts = [];
    this.length = 0;
    this.inOrder = true;
    let last = -Infinity;
    for (const b of blocks) {
      this.starts.push(this.length);
      this.length += b.rows;
      this.inOrder &&= b.inOrder && b.times[0] >= last;
      last = b.times[b.rows - 1];
    }
  }
  // at calls f with the block of an event and its place there.
  block(i) {
    let low = 0, high = this.starts.length - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (this.starts[mid] <= i) low = mid; else high = mid - 1;
    }
    return low;
  }
  event(i) {
    const b = this.block(i), block = this.blocks[b], row = i - this.starts[b], probe = block.probes[row];
    return { block, row, probe, time: block.times[row], task: block.tasks[block.task[row]], node: block.nodes[row], ordinal: block.ordinals[row] };
  }
  // value returns an argument: a number, a BigInt, a string, or undefined if there is none.
  value(ev, arg) {
    const column = ev.block.columns[ev.probe]?.[arg];
    return column && columnValue(ev.block, column, ev.ordinal);
  }
}

function columnValue(block, column, ordinal) {
  if (column.others?.has(ordinal)) {
    const text = column.others.get(ordinal);
    return text < 0 ? undefined : block.strings[text];
  }
  if (ordinal >= column.values.length) return undefined;
  const v = column.values[ordinal];
  if (column.kind !== "text") return v;
  return v < 0 ? undefined : block.strings[v];
}
