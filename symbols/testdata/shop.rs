// A program in Rust with generics, closures, traits and inlined functions.
use std::collections::HashMap;
use std::io::Write;

trait Priced {
    fn price(&self) -> i64;
}

struct Item<T> {
    name: String,
    worth: T,
}

impl<T: Into<i64> + Copy> Priced for Item<T> {
    #[inline(never)]
    fn price(&self) -> i64 {
        self.worth.into() + self.name.len() as i64
    }
}

#[inline(always)]
fn double(n: i64) -> i64 {
    n.wrapping_mul(2) + std::env::args().count() as i64
}

#[inline(never)]
fn total(items: &[Box<dyn Priced>]) -> i64 {
    items.iter().map(|i| double(i.price())).filter(|p| p % 3 != 0).sum()
}

fn main() {
    let mut counts: HashMap<String, i64> = HashMap::new();
    let mut items: Vec<Box<dyn Priced>> = Vec::new();
    for i in 0..100i32 {
        *counts.entry(format!("item {}", i % 7)).or_insert(0) += i as i64;
        items.push(Box::new(Item { name: i.to_string(), worth: i }));
        items.push(Box::new(Item { name: "x".into(), worth: i as i16 }));
    }
    let mut names: Vec<_> = counts.keys().cloned().collect();
    names.sort();
    println!("{} {}", total(&items), names.join(","));
    println!("ready");
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::park();
    }
}
