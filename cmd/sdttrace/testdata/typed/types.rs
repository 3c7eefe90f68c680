// Functions of Rust whose arguments and results are of all kinds. The test has their values.
use std::hint::black_box;

pub struct Conn { pub port: u16, pub load: f64 }
pub struct Request<'a> { pub path: &'a str, pub own: Conn, pub last: bool }
#[derive(Clone, Copy)]
pub enum Mode { Off = 1, On = 7 }
pub struct Pair { pub a: u32, pub b: u32 }

#[inline(never)]
#[no_mangle]
pub fn numbers(a: i8, b: u8, c: i16, d: u16, e: i32, f: u32, g: i64, h: u64) -> i16 {
    black_box((b, d, e, f, g, h));
    a as i16 + c
}

#[inline(never)]
#[no_mangle]
pub fn texts(name: &str, list: &[u8], yes: bool, mode: Mode, ratio: f32, after: u16) -> &'static str {
    black_box((name, list, yes, mode as u8, ratio, after));
    "result"
}

#[inline(never)]
#[no_mangle]
pub fn structs(r: &Request, c: Conn, p: Pair, n: i64) -> Pair {
    black_box((r.path, c.port, n));
    Pair { a: p.b, b: p.a }
}

fn main() {
    let own = Conn { port: 80, load: 2.5 };
    let r = Request { path: "/index", own, last: true };
    black_box(numbers(black_box(-1), 200, black_box(-300), 60000, -70000, 4000000000, -5000000000, 6000000000));
    black_box(texts(black_box("hello"), b"bytes", black_box(true), Mode::On, 0.5, 9));
    black_box(structs(&r, Conn { port: black_box(443), load: 1.5 }, Pair { a: black_box(1), b: black_box(2) }, black_box(-9)));
    black_box((r.own.load, r.last, Mode::Off as u8));
}
