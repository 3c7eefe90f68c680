// The grammar of conditions, as package filter of attach has it in Go: --where and the filter
// understand the same. Its tables are those of package grammar.

class ConditionError extends Error {
  constructor(input, at, message) {
    super(`column ${Array.from(input.slice(0, at)).length + 1}: ${message}`);
  }
}

class ConditionParser {
  constructor(input) { this.input = input; this.at = 0; this.valued = false; }
  fail(at, message) { return new ConditionError(this.input, at, message); }

  // next cuts off a token: a symbol, a name, a constant, or the end.
  next() {
    const t = this.token = this.cut();
    this.valued = t.kind === "name" || t.kind === "constant" || t.text === ")" || t.text === "]";
    return t;
  }
  take(kind, at, length, more) {
    this.at = at + length;
    return { kind, at, text: this.input.slice(at, at + length), ...more };
  }
  cut() {
    while (" \t\r\n".includes(this.input[this.at] ?? "-")) this.at++;
    const at = this.at, rest = this.input.slice(at);
    if (!rest) return this.take("end", at, 0);
    const symbol = grammar.symbols.find(s => rest.startsWith(s));
    if (symbol) return this.take("symbol", at, symbol.length);
    if (/^["']/.test(rest)) return this.quoted(at, rest);
    if (/^\d/.test(rest)) {
      const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?/.exec(rest), ns = time && parseTime(time[0]);
      if (time && ns !== null) return this.take("constant", at, time[0].length, { constant: { kind: "time", int: ns } });
      const address = /^\d+\.\d+\.\d+\.\d+/.exec(rest), bytes = address && parseAddress(address[0]);
      if (bytes) return this.take("constant", at, address[0].length, { constant: { kind: "address", bytes } });
    }
    if (/^[+-]/.test(rest) && (this.valued || !/^[+-](\d|\.|inf)/i.test(rest))) return this.take("symbol", at, 1);
    if (/^\d/.test(rest) || /^[-+.]/.test(rest) && rest.length > 1) return this.number(at, rest);
    const name = /^[\p{L}_][\p{L}\d_.[\]]*/u.exec(rest);
    if (name) {
      let length = name[0].length;
      if (rest[length] === ":" && rest[length - 1] === "[") length--;
      const text = rest.slice(0, length);
      if (text === "true" || text === "false") return this.take("constant", at, length, { constant: { kind: "bool", is: text === "true" } });
      return this.take("name", at, length);
    }
    if (rest[0] === "=") throw this.fail(at, "to compare write ==");
    if (rest[0] === "|") throw this.fail(at, "to combine conditions write ||");
    throw this.fail(at, `character "${String.fromCodePoint(rest.codePointAt(0))}" has no meaning here`);
  }
  quoted(at, rest) {
    const quote = rest[0];
    let bytes = "", glob = "", i = 1;
    for (; rest[i] !== quote; ) {
      if (i >= rest.length) throw this.fail(at, `the string is not closed by ${quote}`);
      if (rest[i] !== "\\") {
        const c = String.fromCodePoint(rest.codePointAt(i)), b = utf8(c);
        bytes += b;
        glob += b;
        i += c.length;
      } else if (rest[i + 1] === "*") {
        bytes += "*";
        glob += "\\*";
        i += 2;
      } else {
        const read = unescape(rest.slice(i + 1), quote);
        if (!read) throw this.fail(at + i, "a backslash is followed by n, t, xHH, u…, \\, * or the quote");
        bytes += read[0];
        glob += read[0] === "*" || read[0] === "\\" ? "\\" + read[0] : read[0];
        i += 1 + read[1];
      }
    }
    return this.take("constant", at, i + 1, { constant: { kind: "string", bytes, glob } });
  }
  number(at, rest) {
    let text = /^[\p{L}\d_.+-]+/u.exec(rest)[0];
    const hex = text.replace(/^[+-]+/, "").startsWith("0x");
    // A sign belongs to a number at its beginning and after an exponent.
    for (let i = 1; i < text.length; i++) if ("+-".includes(text[i]) && (hex || !/e/i.test(text[i - 1]))) text = text.slice(0, i);
    const take = constant => this.take("constant", at, text.length, { constant });
    const digits = text.replace(/^\++/, ""), negative = digits[0] === "-", whole = parseWhole(negative ? digits.slice(1) : digits);
    if (whole !== null) {
      if (whole >= 2n ** 64n || negative && whole > 2n ** 63n) throw this.fail(at, `${text} does not fit 64 bits`);
      return take({ kind: "int", int: negative ? -whole : whole, negative });
    }
    const ns = parseDuration(text);
    if (ns !== null) return take({ kind: "duration", int: ns });
    const f = parseFloatText(text);
    if (f === null) throw this.fail(at, `"${text}" is not a number`);
    return take({ kind: "float", float: f });
  }

  is(symbol) { return this.token.kind === "symbol" && this.token.text === symbol; }
  deeper(depth) {
    if (depth === grammar.maxDepth) throw this.fail(this.token.at, `conditions nest at most ${grammar.maxDepth} deep`);
    this.next();
    return depth + 1;
  }
  whole() {
    if (new TextEncoder().encode(this.input).length > grammar.maxInput) throw this.fail(0, `a condition has at most ${grammar.maxInput} bytes`);
    this.next();
    const e = this.or(0);
    if (this.token.kind !== "end") throw this.fail(this.token.at, `"${this.token.text}" follows a complete ${e.kind === "value" ? "expression" : "condition"}; combine conditions by && or ||`);
    return this.condition(e);
  }
  written(t) { return this.input.slice(t.at, t.end); }
  // condition returns e if it is one, or a name, which may be a bool. A text alone is looked for.
  condition(e) {
    if (e.kind !== "value") return e;
    const t = e.term, text = this.written(t);
    if (t.kind === "name") return { kind: "truth", term: t };
    if (t.kind === "constant" && t.constant.kind === "string") return { kind: "search", bytes: t.constant.bytes };
    if (t.kind === "constant") throw this.fail(t.at, `${text} is compared with nothing`);
    if (t.kind !== "operation") throw this.fail(t.at, `${text} is a text, not a condition: compare it with a constant`);
    if (t.operator === "&") throw this.fail(t.opAt, `${text} is an integer, not a condition: compare it with a constant, or combine conditions by &&`);
    throw this.fail(t.at, `${text} is an integer, not a condition: compare it with a constant`);
  }
  or(depth) { return this.chain("||", () => this.chain("&&", () => this.comparison(depth))); }
  chain(symbol, operand) {
    let left = operand();
    while (this.is(symbol)) {
      left = this.condition(left);
      this.next();
      left = { kind: symbol, left, right: this.condition(operand()) };
    }
    return left;
  }
  comparison(depth) {
    if (this.is("!")) return { kind: "!", left: this.condition((depth = this.deeper(depth), this.comparison(depth))) };
    const left = this.sum(depth), op = this.token;
    if (op.kind !== "symbol" || !(op.text in grammar.mirrored) && op.text !== "~") return left;
    this.next();
    if (!this.atValue()) throw this.fail(this.token.at, `want a constant after ${op.text}`);
    const right = this.sum(depth);
    if (left.kind !== "value" || right.kind !== "value") throw this.fail(op.at, `${op.text} compares values, not conditions`);
    return this.compare(op, left.term, right.term);
  }
  compare(op, left, right) {
    let operator = op.text;
    if (hasNames(left) === hasNames(right)) {
      if (right.operator === "&") throw this.fail(right.opAt, "to combine conditions write &&");
      throw this.fail(left.at, "compare the name of an argument with a constant: the name of a number is in quotes");
    }
    if (!hasNames(left)) {
      if (operator === "~") throw this.fail(right.at, "the pattern is a string to the right of ~");
      [left, right, operator] = [right, left, grammar.mirrored[operator]];
    }
    if (left.kind === "call") throw this.fail(left.at, `${this.written(left)} makes keys of groups, and cannot be compared`);
    return { kind: "compare", term: left, operator, opAt: op.at, constAt: right.at, constant: foldTerm(this, right) };
  }
  sum(depth) { return this.operations(depth, d => this.product(d), grammar.sums); }
  product(depth) { return this.operations(depth, d => this.negative(d), grammar.products); }
  operations(depth, operand, operators) {
    let left = operand(depth);
    while (this.token.kind === "symbol" && operators.includes(this.token.text)) {
      const op = this.token;
      this.next();
      if (!this.atValue()) throw this.fail(this.token.at, `want an argument or a number after ${op.text}`);
      const right = operand(depth);
      if (left.kind !== "value" || right.kind !== "value") throw this.fail(op.at, `${op.text} is of integers, not of conditions`);
      left = this.operation(op.text, op.at, left.term, right.term);
    }
    return left;
  }
  operation(operator, opAt, left, right) {
    return { kind: "value", term: { kind: "operation", at: left.at, end: right.end, operator, opAt, left, right } };
  }
  negative(depth) {
    const sign = this.token;
    if (!this.is("-") && !this.is("+")) return this.primary(depth);
    const e = (depth = this.deeper(depth), this.negative(depth));
    if (e.kind !== "value") throw this.fail(sign.at, `${sign.text} is of integers, not of conditions`);
    if (sign.text === "+") return e;
    return this.operation("-", sign.at, { kind: "constant", at: sign.at, end: sign.at, constant: { kind: "int", int: 0n } }, e.term);
  }
  atValue() { return this.token.kind === "name" || this.token.kind === "constant" || this.is("(") || this.is("-") || this.is("+"); }
  primary(depth) {
    const { kind, at, text, constant } = this.token, term = { kind, at, end: at + text.length };
    if (this.is("(")) return this.parentheses(depth);
    if (kind !== "constant" && kind !== "name") throw this.fail(at, `want the name of an argument, ${grammar.taskKeys.join(", ")}, a constant, '!' or '('`);
    if (kind === "constant") term.constant = constant; else term.name = text;
    this.next();
    if (kind === "name" && this.is("[:")) this.prefix(term);
    else if (kind === "name" && this.is("(")) this.call(term);
    return { kind: "value", term };
  }
  parentheses(depth) {
    const open = this.token.at;
    depth = this.deeper(depth);
    let e = this.or(depth);
    if (!this.is(")")) throw this.fail(this.token.at, `the '(' of column ${Array.from(this.input.slice(0, open)).length + 1} is not closed`);
    if (e.kind === "value") e = { kind: "value", term: { ...e.term, at: open, end: this.token.at + 1 } };
    this.next();
    return e;
  }
  prefix(term) {
    const { kind, constant: n, at } = this.next();
    if (kind !== "constant" || n.kind !== "int" || n.int < 1n || n.int > grammar.maxString) throw this.fail(at, `want a number of bytes from 1 to ${grammar.maxString} after [:`);
    Object.assign(term, { kind: "prefix", bytes: Number(n.int) });
    this.next();
    if (!this.is("]")) throw this.fail(this.token.at, `want ] after ${term.name}[:${term.bytes}`);
    term.end = this.token.at + 1;
    this.next();
  }
  call(term) {
    const argument = this.next();
    if (argument.kind !== "name") throw this.fail(argument.at, `want the name of an argument after ${term.name}(`);
    Object.assign(term, { kind: "call", function: term.name, name: argument.text });
    this.next();
    if (!this.is(")")) throw this.fail(this.token.at, `want ) after ${term.function}(${term.name}`);
    term.end = this.token.at + 1;
    this.next();
  }
}

const hasNames = t => t.kind === "operation" ? hasNames(t.left) || hasNames(t.right) : t.kind !== "constant";

// parseCondition returns the parser, which has read the input, and the condition; null for an empty
// input. It throws a ConditionError.
function parseCondition(input) {
  if (!input.trim()) return null;
  const parser = new ConditionParser(input);
  return { parser, expr: parser.whole() };
}
