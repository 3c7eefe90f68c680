// Numbers, durations and times as text.

const thin = "\u202f"; // between groups of three digits

function group(n) {
  const s = String(n);
  const m = /^(-?)(\d+)(.*)$/.exec(s);
  if (!m || m[2].length < 5 || /e/.test(m[3])) return s;
  return m[1] + m[2].replace(/\B(?=(\d{3})+$)/g, thin) + m[3];
}

function significant(v, digits = 3) {
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 10 ** digits && size < 1e15) return group(Math.round(v));
  if (size >= 1e15 || size < 1e-4) return v.toExponential(digits - 1).replace("e+", "e");
  return String(+v.toPrecision(digits));
}

// duration returns [number, unit].
function duration(ns, digits = 4) {
  const size = Math.abs(ns);
  for (const [unit, n] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (size >= n) return [size >= 1e12 ? group(Math.round(ns / 1e9)) : String(+(ns / n).toPrecision(digits)), unit];
  }
  return [String(+ns.toPrecision(3)), "ns"];
}
const durationText = ns => duration(ns).join("\u00a0");

// figure returns what was computed of many values, all of them with as many digits, so that they
// can be compared: 1.20 ms beside 35.4 ms.
function figure(v, unit) {
  if (unit !== "ns") return significant(v, 3);
  const [text, of] = duration(+v.toPrecision(3), 3), digits = text.replace(/\D/g, "").replace(/^0+/, "").length;
  const exact = of === "ns" && Number.isInteger(v) || v === 0 || digits >= 3;
  return (exact ? text : (text.includes(".") ? text : text + ".") + "0".repeat(3 - digits)) + "\u00a0" + of;
}

// quantity returns a number with its unit, as text.
const quantity = (v, unit) => unit === "ns" ? durationText(v) : significant(v, 4);

function perSecond(v) {
  const size = Math.abs(v);
  if (size >= 1e6) return significant(v / 1e6) + "\u00a0M/s";
  if (size >= 1e4) return significant(v / 1e3) + "\u00a0k/s";
  return significant(v) + "\u00a0/s";
}

const count = n => group(n);
const percent = part => (100 * part >= 10 ? (100 * part).toFixed(1) : (100 * part).toPrecision(2)).replace(/\.0$/, "") + "\u00a0%";
const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

const pad = (n, width) => String(n).padStart(width, "0");

// clock returns the time of day on the machine that was traced, of nanoseconds since trace.first.
function clock(ns, digits = 6) {
  const all = trace.first + BigInt(Math.round(ns)) + BigInt(trace.Zone) * 1000000000n;
  const seconds = Number(all / 1000000000n) % 86400, rest = pad(all % 1000000000n, 9);
  return `${pad(Math.floor(seconds / 3600), 2)}:${pad(Math.floor(seconds / 60) % 60, 2)}:${pad(seconds % 60, 2)}` + (digits ? "." + rest.slice(0, digits) : "");
}

function day(ns) {
  const all = trace.first + BigInt(Math.round(ns)) + BigInt(trace.Zone) * 1000000000n;
  return new Date(Number(all / 1000000n)).toISOString().slice(0, 10);
}

const timeSteps = [1, 2, 5].flatMap(m => [0, 1, 2, 3, 4, 5, 6, 7, 8].map(e => m * 10 ** e)).concat([1e9, 2e9, 5e9, 1e10, 1.5e10, 3e10, 6e10, 1.2e11, 3e11, 6e11, 9e11, 1.8e12, 3.6e12, 7.2e12, 1.44e13, 2.16e13, 4.32e13, 8.64e13]).sort((a, b) => a - b);

// unitHTML returns text whose unit is less prominent. Text is made of digits and units here, never of what was traced.
function withUnit(element, text) {
  element.textContent = "";
  const [number, unit] = text.split("\u00a0");
  element.append(number);
  if (unit) {
    const u = document.createElement("span");
    u.className = "unit";
    u.textContent = unit;
    element.append(u);
  }
  return element;
}

// el makes an element of a class with children, which are elements or text.
function el(tag, className, ...children) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  e.append(...children);
  return e;
}

// valueText returns an argument as the table shows it.
function valueText(v, arg) {
  if (v === undefined) return "";
  if (typeof v === "string") return v;
  if (typeof v === "bigint") return /^arg\d+$/.test(arg.Name) && v > 0xffffffffn ? "0x" + v.toString(16) : String(v);
  if (arg.Unit === "ns") return durationText(v);
  if (/^arg\d+$/.test(arg.Name) && v > 0xffffffff && Number.isInteger(v)) return "0x" + v.toString(16);
  return String(v);
}
