// Constants of conditions, as Go reads them. Text is compared as bytes: a character is a byte.

const utf8 = text => Array.from(new TextEncoder().encode(text), b => String.fromCharCode(b)).join("");

const nanosOf = { ns: 1n, us: 1000n, "µs": 1000n, "μs": 1000n, ms: 1000000n, s: 1000000000n, m: 60000000000n, h: 3600000000000n };
const most64 = 2n ** 63n - 1n, least64 = -(2n ** 63n);

// parseWhole returns an integer as strconv.ParseUint reads it, null if the text is none.
function parseWhole(text) {
  if (/^0(_?[0-7])+$/.test(text)) text = "0o" + text.slice(1);
  else if (!/^(0x(_?[\da-f])+|0b(_?[01])+|0o(_?[0-7])+|0|[1-9](_?\d)*)$/i.test(text)) return null;
  return BigInt(text.replaceAll("_", "").toLowerCase());
}

// parseDuration returns nanoseconds as time.ParseDuration does, null if the text is no duration.
function parseDuration(text) {
  const m = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/u.exec(text);
  if (!m) return /^[+-]?0$/.test(text) ? 0n : null;
  let sum = 0n;
  for (const [, whole, , fraction, unit] of m[2].matchAll(/(\d*)(\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/gu)) {
    const digits = (fraction || "").slice(0, 18);
    sum += BigInt(whole || 0) * nanosOf[unit] + BigInt(Math.trunc(Number(digits || 0) * (Number(nanosOf[unit]) / 10 ** digits.length)));
    if (sum > most64 + 1n) return null;
  }
  if (m[1] === "-") return -sum;
  return sum > most64 ? null : sum;
}

// parseFloatText returns a number as strconv.ParseFloat does, null if the text is none.
function parseFloatText(text) {
  const sign = text[0] === "-" ? -1 : 1, rest = text.replace(/^[+-]/, "").toLowerCase();
  if (rest === "inf" || rest === "infinity") return sign * Infinity;
  const hex = /^0x([\da-f]*)\.?([\da-f]*)p([+-]?\d+)$/.exec(rest);
  let n = NaN;
  if (hex && hex[1] + hex[2]) n = parseInt(hex[1] + hex[2], 16) * 2 ** (Number(hex[3]) - 4 * hex[2].length);
  else if (/^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(rest)) n = Number(rest);
  return Number.isFinite(n) ? sign * n : null;
}

// parseTime returns nanoseconds since 1970, null if the text is no time. Times are UTC unless they
// say otherwise.
function parseTime(text) {
  const m = /^(\d{4})-(\d\d)-(\d\d)(?:(?:T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|[+-]\d\d:\d\d)?)|(?: (\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?))?$/.exec(text);
  if (!m) return null;
  const [year, month, date] = m.slice(1, 4).map(Number), [hour, minute, second] = [m[4] ?? m[9] ?? 0, m[5] ?? m[10] ?? 0, m[6] ?? m[11] ?? 0].map(Number);
  const day = new Date(0);
  day.setUTCFullYear(year, month - 1, date);
  if (day.getUTCMonth() !== month - 1 || day.getUTCDate() !== date || hour > 23 || minute > 59 || second > 59) return null;
  let seconds = BigInt(day.getTime()) / 1000n + BigInt(3600 * hour + 60 * minute + second);
  if (m[8] && m[8] !== "Z") {
    const [h, min] = m[8].slice(1).split(":").map(Number);
    if (h > 24 || min > 59) return null;
    seconds -= BigInt((m[8][0] === "-" ? -1 : 1) * (3600 * h + 60 * min));
  }
  const nanos = BigInt((m[7] ?? m[12] ?? "").slice(0, 9).padEnd(9, "0"));
  if (seconds === -62135596800n && nanos === 0n) return least64; // Go's zero time
  const second64 = most64 / 1000000000n;
  if (seconds <= -second64) return least64 + 1n;
  return seconds >= second64 ? most64 : seconds * 1000000000n + nanos;
}

// parseAddress returns the 4 or 16 bytes of an address, null if the text is none.
function parseAddress(text) {
  const four = text => {
    const parts = text.split(".");
    if (parts.length !== 4 || !parts.every(p => /^(0|[1-9]\d{0,2})$/.test(p) && Number(p) < 256)) return null;
    return parts.map(Number);
  };
  if (!text.includes(":")) {
    const b = four(text);
    return b && String.fromCharCode(...b);
  }
  const at = text.lastIndexOf(":") + 1;
  let tail = [];
  if (text.includes(".")) {
    const b = four(text.slice(at));
    if (!b) return null;
    tail = b;
    text = text.slice(0, at) + "0:0";
  }
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const words = half => half === "" ? [] : half.split(":");
  const first = words(halves[0]), last = halves.length > 1 ? words(halves[1]) : [], given = first.length + last.length;
  if (![...first, ...last].every(w => /^[\da-f]{1,4}$/i.test(w)) || (halves.length > 1 ? given > 7 : given !== 8)) return null;
  const all = [...first, ...new Array(8 - given).fill("0"), ...last].flatMap(w => [parseInt(w, 16) >> 8, parseInt(w, 16) & 255]);
  if (tail.length) all.splice(12, 4, ...tail);
  return String.fromCharCode(...all);
}

// unmapped returns the IPv4 address that an IPv6 address stands for, or the address.
const unmapped = a => a.length === 16 && a.startsWith("\0".repeat(10) + "\xff\xff") ? a.slice(12) : a;

const escapes = { a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", "\\": "\\" };

// unescape reads what stands behind a backslash, at the beginning of text, in quotes: the bytes, and
// how long it is. It returns null for what strconv.UnquoteChar refuses.
function unescape(text, quote) {
  const c = text[0];
  if (c in escapes || c === quote) return [escapes[c] ?? c, 1];
  let m = /^(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/.exec(text);
  if (m) {
    const code = parseInt(m[1] ?? m[2] ?? m[3], 16);
    if (m[1]) return [String.fromCharCode(code), 3];
    if (code > 0x10ffff || code >= 0xd800 && code < 0xe000) return null;
    return [utf8(String.fromCodePoint(code)), m[0].length];
  }
  m = /^[0-7]{3}/.exec(text);
  return m && parseInt(m[0], 8) < 256 ? [String.fromCharCode(parseInt(m[0], 8)), 3] : null;
}

// parsePattern returns the pieces between the stars of a pattern.
function parsePattern(text) {
  const pieces = [];
  let piece = "";
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "*") {
      if (!pieces.length || piece) pieces.push(piece); // empty pieces between stars have no meaning
      piece = "";
      continue;
    }
    if (text[i] === "\\" && i + 1 < text.length) i++;
    piece += text[i];
  }
  return [...pieces, piece];
}

// matches reports whether a pattern matches all of a text, whose first bytes are compared: more says
// that it goes on behind the known ones.
function matches(pieces, { bytes, more }) {
  const first = pieces[0], last = pieces[pieces.length - 1];
  if (more || bytes.length > grammar.maxString) {
    if (pieces.length === 1 || last !== "") return false;
    bytes = bytes.slice(0, grammar.maxString);
  }
  if (pieces.length === 1) return bytes === first;
  if (!bytes.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = bytes.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return bytes.length - at >= last.length && bytes.endsWith(last);
}
