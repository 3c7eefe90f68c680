// Conditions fitted to the arguments of a probe, and evaluated, as programs in the kernel do it.

const kindTexts = {
  uint: "an unsigned integer", int: "an integer", float: "a floating-point number", float32: "a floating-point number", bool: "a bool", string: "a string",
  duration: "a duration", time: "a time", address: "an address", netip: "an address", hex: "an identifier",
};
const unsigned = n => BigInt.asUintN(64, n), signedOf = n => BigInt.asIntN(64, n);

// arithmetic computes with patterns of 64 bits; null is a division by zero.
const arithmetic = {
  "+": (a, b) => unsigned(a + b), "-": (a, b) => unsigned(a - b), "*": (a, b) => unsigned(a * b), "&": (a, b) => a & b,
  "<<": (a, b) => b > 63n ? 0n : unsigned(a << b),
  ">>": (a, b, signed) => signed ? unsigned(signedOf(a) >> (b > 63n ? 63n : b)) : b > 63n ? 0n : a >> b,
  "/": (a, b, signed) => b === 0n ? null : signed ? unsigned(signedOf(a) / signedOf(b)) : a / b,
  "%": (a, b, signed) => b === 0n ? null : signed ? unsigned(signedOf(a) % signedOf(b)) : a % b,
};

// computeTerm returns how a term is computed: read returns 64 bits, or null, for an event. inputOf
// returns what a name stands for.
function computeTerm(p, term, inputOf) {
  let loads = 0, pending = 0;
  const push = t => {
    const text = p.written(t);
    if (t.kind === "prefix") throw p.fail(t.at, `${text} is the beginning of a text, and expressions are of integers`);
    if (t.kind === "call") throw p.fail(t.at, `${text} is a text, and expressions are of integers`);
    if (t.kind === "operation") return operate(t);
    if (++loads > grammar.maxOperands) throw p.fail(t.at, `an expression has at most ${grammar.maxOperands} operands`);
    if (pending > grammar.maxPending) throw p.fail(t.at, `an expression nests at most ${grammar.maxPending} deep`);
    if (t.kind === "constant") {
      const { kind, int, negative } = t.constant;
      if (kind !== "int" && kind !== "duration") throw p.fail(t.at, `${text} is ${kindTexts[kind]}, and expressions are of integers and durations`);
      return { signed: !!negative || kind === "duration", duration: kind === "duration", read: () => unsigned(int), constant: int };
    }
    const input = inputOf(t.name, false, t.at);
    if (input.kind && !["int", "uint", "duration"].includes(input.kind)) throw p.fail(t.at, `${t.name} is ${kindTexts[input.kind]}, and expressions are of integers and durations`);
    const read = row => {
      const v = input.kind ? input.read(row) : undefined;
      return v === undefined ? null : unsigned(BigInt(v));
    };
    return { signed: input.kind !== "uint", duration: input.kind === "duration", read };
  };
  const operate = t => {
    const left = push(t.left);
    pending++;
    const right = push(t.right);
    pending--;
    const apply = arithmetic[t.operator], n = { signed: left.signed || right.signed, duration: left.duration || right.duration };
    if (t.operator === "/" || t.operator === "%") {
      if (right.constant === 0n) throw p.fail(t.opAt, `${p.written(t)} divides by zero`);
      n.duration = left.duration && (t.operator === "%" || !right.duration);
    }
    if (t.operator === "*" && left.duration && right.duration) throw p.fail(t.opAt, "durations are not multiplied by each other");
    if (t.operator === "<<" || t.operator === ">>") Object.assign(n, { signed: left.signed, duration: left.duration });
    const signed = n.signed;
    n.read = row => {
      const a = left.read(row), b = a === null ? null : right.read(row);
      return b === null ? null : apply(a, b, signed);
    };
    n.signed ||= t.operator === "-";
    return n;
  };
  const n = push(term);
  return { kind: n.duration ? "duration" : n.signed ? "int" : "uint", read: n.read };
}

// foldTerm returns the constant that a term without names is.
function foldTerm(p, term) {
  if (term.kind === "constant") return term.constant;
  const { kind, read } = computeTerm(p, term), bits = read(0);
  if (bits === null) throw p.fail(term.at, `${p.written(term)} divides by zero`);
  return { kind: kind === "duration" ? kind : "int", int: kind === "uint" ? bits : signedOf(bits) };
}

// checkCondition fits a condition to a probe: it returns a function that says for a row whether the
// condition holds. inputOf(name, isString, at) returns the kind of what a name stands for, and read,
// which returns it for a row, or undefined; the kind is missing if no value is known. textTest
// returns what looks for a text.
function checkCondition(p, e, inputOf, textTest) {
  const check = e => checkCondition(p, e, inputOf, textTest);
  switch (e.kind) {
    case "search": return textTest(e.bytes);
    case "!": {
      const left = check(e.left);
      return row => !left(row);
    }
    case "&&": case "||": {
      const left = check(e.left), right = check(e.right);
      return e.kind === "&&" ? row => left(row) && right(row) : row => left(row) || right(row);
    }
  }
  const { term } = e, text = p.written(term);
  if (term.kind === "operation") {
    const { kind, read } = computeTerm(p, term, inputOf);
    return comparison(p, e, { kind, read: row => {
      const bits = read(row);
      return bits === null ? undefined : kind === "uint" ? bits : signedOf(bits);
    } });
  }
  let input = inputOf(term.name, e.constant?.kind === "string" || term.kind === "prefix", term.at);
  if (!input.kind) return () => false;
  if (term.kind === "prefix") {
    const { read } = input;
    if (input.kind !== "string") throw p.fail(term.at, `${term.name} is ${kindTexts[input.kind]}: only text has a beginning`);
    input = { kind: "string", read: row => {
      const v = read(row);
      return v && v.bytes.length >= term.bytes ? { bytes: v.bytes.slice(0, term.bytes), more: false } : v;
    } };
  }
  if (e.kind !== "truth") return comparison(p, e, input);
  if (input.kind !== "bool") throw p.fail(term.at, `${text} is ${kindTexts[input.kind]}, not a condition: compare it with a constant`);
  return row => input.read(row) === true;
}

const orders = {
  "==": (a, b) => a == b, "!=": (a, b) => a != b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, // a Number and a BigInt are compared exactly
};

const kindExamples = { duration: "10ms", time: '2026-01-31 or "2026-01-31T23:59:59Z"', address: '10.0.0.1 or "::1"' };

// meant returns a constant as one of a kind, which may be written as a string; null if it is none.
function meant(k, kind) {
  if (k.kind !== "string") return k.kind === kind || k.kind === "int" && kind !== "address" ? k : null;
  const text = new TextDecoder().decode(Uint8Array.from(k.bytes, c => c.charCodeAt(0)));
  if (kind === "address") {
    const bytes = parseAddress(text);
    return bytes === null ? null : { bytes };
  }
  const int = kind === "duration" ? parseDuration(text) : parseTime(text);
  return int === null ? null : { int };
}

// comparison returns a function that compares a value with the constant of e.
function comparison(p, e, { kind, read, names }) {
  const { constant: k, operator, constAt, opAt } = e, name = p.written(e.term), order = orders[operator];
  const known = test => row => {
    const v = read(row);
    return v !== undefined && test(v);
  };
  const mismatch = () => p.fail(constAt, `${name} is ${kindTexts[kind]}, and is compared with ${kindTexts[k.kind]}`);
  const only = (allowed, what) => {
    if (!allowed.includes(operator)) throw p.fail(opAt, `${what} are compared by ${allowed.length > 2 ? "==, != and ~" : "== and !="} only`);
  };
  if (operator === "~" && (kind !== "string" && kind !== "hex" || k.kind !== "string")) throw p.fail(opAt, `~ compares a string with a pattern, and ${name} is ${kindTexts[kind]}`);
  switch (kind) {
    case "duration": case "time": {
      const m = meant(k, kind);
      if (!m) throw p.fail(constAt, `${name} is ${kindTexts[kind]}: compare it with one, such as ${kindExamples[kind]}`);
      return known(v => order(v, m.int));
    }
    case "address": case "netip": {
      const m = meant(k, "address");
      if (!m) throw p.fail(constAt, `${name} is an address: compare it with one, such as ${kindExamples.address}`);
      only(["==", "!="], "addresses");
      const same = kind === "netip" ? unmapped : a => a;
      return known(v => order(same(v), same(m.bytes)));
    }
    case "hex": return known(hexTest(p, e, name, only));
    case "string": {
      if (k.kind !== "string") throw mismatch();
      if (k.bytes.length > grammar.maxString) throw p.fail(constAt, `a string to compare with has at most ${grammar.maxString} bytes`);
      only(["==", "!=", "~"], "strings");
      const pieces = operator === "~" ? parsePattern(k.glob) : [k.bytes];
      return known(v => matches(pieces, v) === (operator !== "!="));
    }
    case "bool":
      if (k.kind !== "bool") throw mismatch();
      only(["==", "!="], "bools");
      return known(v => (v === k.is) === (operator === "=="));
    case "float": case "float32": {
      if (k.kind !== "int" && k.kind !== "float") throw mismatch();
      const round = kind === "float32" ? Math.fround : n => n, f = round(k.kind === "int" ? Number(k.int) : k.float);
      return known(v => !Number.isNaN(v) && order(round(v), f));
    }
  }
  if (k.kind === "string" && names) {
    only(["==", "!="], "names of numbers");
    const n = names[k.bytes]; // a name that no event has
    return known(v => n === undefined ? operator === "!=" : order(v, n));
  }
  if (k.kind !== "int") throw mismatch();
  return known(v => order(v, k.int));
}

// hexTest returns a function that compares identifiers with digits.
function hexTest(p, e, name, only) {
  const { constant: k, operator } = e;
  if (k.kind !== "string") throw p.fail(e.constAt, `${name} is an identifier: compare it with its hexadecimal digits in quotes, such as "8c17"`);
  only(["==", "!=", "~"], "identifiers");
  const pieces = (operator === "~" ? parsePattern(k.glob) : [k.bytes]).map((digits, i) => {
    const pure = (i ? digits : digits.replace(/^0x/, "")).replace(/[-: ]/g, "");
    if (!/^([\da-f]{2})*$/i.test(pure) || pure.length > 2 * grammar.maxString) throw p.fail(e.constAt, `${name} is an identifier: compare it with an even number of hexadecimal digits, ${2 * grammar.maxString} at most`);
    return pure.replace(/../g, pair => String.fromCharCode(parseInt(pair, 16)));
  });
  return v => matches(pieces, v) === (operator !== "!=");
}
