// Variables of a program in Rust, whose values the test knows.
struct Conn {
    port: u16,
    load: f64,
}

struct Request<'a> {
    path: &'a str,
    own: Conn,
    last: bool,
}

#[inline(never)]
fn handle(r: &Request, name: &str, n: i64) -> i64 {
    let mut sum = 0;
    for i in 0..n {
        sum += i / 2 + 1 + r.own.port as i64;
    }
    if sum < 0 {
        println!("{} {} {} {}", r.path, r.own.load, r.last, name);
    }
    sum
}

fn main() {
    let r = Request { path: "/index", own: Conn { port: 80, load: 2.5 }, last: true };
    let n = std::env::args().count() as i64 + 2;
    std::process::exit((handle(&r, "first", n) - handle(&r, "first", n)) as i32);
}
