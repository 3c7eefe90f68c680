// Panics that pass through a function. For each line that it reads, the program answers with the
// sum of what the function has returned.
use std::io::{self, BufRead};
use std::panic;

#[inline(never)]
fn half(n: i32) -> i32 {
    if n % 2 == 0 {
        panic!("even");
    }
    std::hint::black_box(n)
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    for _ in io::stdin().lock().lines() {
        let sum: i32 = (0..20).filter_map(|n| panic::catch_unwind(|| half(n)).ok()).sum();
        println!("{}", sum);
    }
}
