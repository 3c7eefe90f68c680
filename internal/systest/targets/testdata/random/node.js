// node.js computes with what node and V8 have, checks it, and prints it: the same in each run.
'use strict';
const assert = require('assert');
const crypto = require('crypto');
const zlib = require('zlib');
const path = require('path');
const fs = require('fs');
const os = require('os');
const vm = require('vm');
const util = require('util');
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFileSync } = require('child_process');

const show = (...what) => console.log(...what);

function hot(n) { // compiled by each of V8's compilers
	let s = 0;
	const a = new Float64Array(64);
	for (let i = 0; i < n; i++) {
		a[i & 63] += Math.sin(i) * Math.sqrt(i) + (i % 7 ? i >>> 3 : -i);
		s = (s + (a[(i * 7) & 63] | 0)) | 0;
	}
	return s;
}

class Shape { constructor(n) { this.n = n; } get area() { return this.n * this.n; } *[Symbol.iterator]() { for (let i = 0; i < this.n; i++) yield i; } }
class Circle extends Shape { #r = 2; get area() { return super.area * this.#r; } static of(n) { return new this(n); } }

async function language() {
	show(hot(300000), [...Circle.of(5)].join(), Circle.of(7).area);
	const words = 'the quick brown fox jumps over the lazy dog'.split(' ');
	show(words.sort().map(w => w.toUpperCase()).filter(w => /O/.test(w)).reduce((a, b) => a + b), words.reverse());
	show('2024-02-29'.replace(/(\d+)-(\d+)-(?<day>\d+)/u, '$<day>.$2.$1'), 'aXbX'.replaceAll('X', () => '-'), [...'añb€'.normalize('NFD')].length, 'ß'.toLocaleUpperCase());
	const map = new Map(), set = new Set(), weak = new WeakMap();
	for (let i = 0; i < 5000; i++) { map.set('k' + i % 977, i); set.add(i * 31 % 1013); weak.set({}, i); }
	show(map.size, set.size, JSON.stringify(Object.fromEntries([...map].slice(0, 5))), JSON.parse('{"a":[1,2.5,{"b":null}]}'));
	show(2n ** 200n % 1000007n, BigInt.asIntN(64, 0xffffffffffffn ** 3n), (123456789n * 987654321n).toString(36), parseFloat('1e-7'), (1234.5678).toFixed(2), (255).toString(2), Number('0x1f'));
	try { null.x; } catch (e) { show(e.name, e.message); }
	try { (function f() { f(); })(); } catch (e) { show(e instanceof RangeError); }
	const { a, ...rest } = { a: 1, b: 2, c: [3] }; show(a, rest, rest?.c?.[0] ?? 9, structuredClone({ d: new Date(0), m: new Map([[1, 2]]) }));
	const p = new Proxy({}, { get: (t, k) => k + '!' }); show(p.hello, Reflect.ownKeys({ x: 1, [Symbol.for('y')]: 2 }));
	const order = []; setImmediate(() => order.push('immediate')); process.nextTick(() => order.push('tick')); Promise.resolve().then(() => order.push('promise'));
	await new Promise(r => setImmediate(r)); await new Promise(r => setTimeout(r, 1)); show(order);
	show(await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error('no'))]), eval('1+1'), new Function('x', 'return x*2')(21), vm.runInNewContext('x + 1', { x: 41 }));
	show(new Date(86400000 * 365.25 * 30).toISOString(), new Intl.NumberFormat('de-DE').format(1234567.891), new Intl.DateTimeFormat('en-US', { timeZone: 'UTC' }).format(0), 'a'.localeCompare('B'));
	const sieve = new Uint8Array(100000); let primes = 0; for (let i = 2; i < 100000; i++) if (!sieve[i]) { primes++; for (let j = i * 2; j < 100000; j += i) sieve[j] = 1; } assert.strictEqual(primes, 9592);
	const wasm = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11))); show(wasm.exports.add(40, 2));
	let garbage = []; for (let i = 0; i < 200000; i++) { garbage.push({ i, s: 'x' + i }); if (garbage.length > 5000) garbage = []; } show(garbage.length);
	const shared = new Int32Array(new SharedArrayBuffer(16)); Atomics.add(shared, 0, 5); show(Atomics.load(shared, 0), util.inspect({ nested: { deep: { er: 1 } } }), util.format('%s %d %j', 's', 4, { j: 1 }));
}

async function library() {
	const data = Buffer.from(Array.from({ length: 50000 }, (_, i) => i * i % 251));
	for (const h of ['md5', 'sha1', 'sha256', 'sha512', 'sha3-256', 'blake2b512', 'ripemd160']) try { show(h, crypto.createHash(h).update(data).digest('hex')); } catch (e) { show(h, e.message); }
	for (const c of ['aes-256-gcm', 'aes-128-cbc', 'chacha20-poly1305', 'aes-192-ctr']) {
		const key = Buffer.alloc({ a: c.includes('128') ? 16 : c.includes('192') ? 24 : 32, c: 32 }[c[0]], 7), iv = Buffer.alloc(c.includes('gcm') || c[0] === 'c' ? 12 : 16, 9), opts = c[0] === 'c' ? { authTagLength: 16 } : {};
		const e = crypto.createCipheriv(c, key, iv, opts), out = Buffer.concat([e.update(data), e.final()]), d = crypto.createDecipheriv(c, key, iv, opts);
		if (e.getAuthTag && (c.includes('gcm') || c[0] === 'c')) d.setAuthTag(e.getAuthTag());
		assert.ok(Buffer.concat([d.update(out), d.final()]).equals(data)); show(c, crypto.createHash('sha1').update(out).digest('hex'));
	}
	show(crypto.pbkdf2Sync('p', 's', 100, 20, 'sha256').toString('hex'), crypto.scryptSync('p', 's', 16, { N: 256 }).toString('hex'), crypto.createHmac('sha256', 'k').update('d').digest('base64'));
	for (const [type, opts] of [['rsa', { modulusLength: 1024 }], ['ec', { namedCurve: 'P-256' }], ['ed25519', {}]]) { const { publicKey, privateKey } = crypto.generateKeyPairSync(type, opts); assert.ok(crypto.verify(type === 'ed25519' ? null : 'sha256', data, publicKey, crypto.sign(type === 'ed25519' ? null : 'sha256', data, privateKey))); }
	for (const [z, u] of [['gzipSync', 'gunzipSync'], ['deflateSync', 'inflateSync'], ['brotliCompressSync', 'brotliDecompressSync']]) { const out = zlib[z](data); assert.ok(zlib[u](out).equals(data)); show(z, out.length); }
	const file = path.join(process.argv[2], 'node.tmp'); fs.writeFileSync(file, data); fs.appendFileSync(file, 'more'); assert.strictEqual(fs.statSync(file).size, 50004); show(crypto.createHash('md5').update(await fs.promises.readFile(file)).digest('hex'));
	let n = 0; for await (const chunk of fs.createReadStream(file, { highWaterMark: 1000 })) n += chunk.length; show(n, fs.readdirSync(process.argv[2]).includes('node.tmp')); fs.unlinkSync(file);
	show(execFileSync('sh', ['-c', 'echo child; exit 0']).toString(), os.EOL.length, new URL('http://u:p@example.org:81/a/../b?q=1#f').href, new URLSearchParams('a=1&b=2').get('b'), require('querystring').stringify({ x: [1, 2] }));
	show(Buffer.from('héllo').toString('base64'), Buffer.from('ff00', 'hex').readUInt16BE(), new TextDecoder('utf-16le').decode(Uint8Array.of(104, 0, 105, 0)), Buffer.alloc(10).fill('ab').toString('latin1'), data.indexOf(Buffer.from([100, 121])));
	const http = require('http'), server = http.createServer((q, r) => r.end(q.method + q.url.repeat(500))); await new Promise(r => server.listen(0, '127.0.0.1', r));
	for (let i = 0; i < 20; i++) await new Promise(r => http.get({ port: server.address().port, host: '127.0.0.1', path: '/p' + i, agent: false }, q => { let s = ''; q.on('data', d => s += d).on('end', () => { assert.strictEqual(s, 'GET' + ('/p' + i).repeat(500)); r(); }); }));
	server.close(); const w = new Worker(__filename); w.postMessage(100000); show(await new Promise(r => w.on('message', r))); await w.terminate();
}

if (isMainThread) language().then(library).then(() => show('done')).catch(e => { show(e); process.exit(1); });
else parentPort.on('message', n => parentPort.postMessage(hot(n)));
