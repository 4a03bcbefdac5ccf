//! Comparison of event queues: the reason for the choice in `time/`.
//!
//! The classic hold model (Jones, "An Empirical Comparison of Priority-Queue and Event-Set Implementations", CACM 29,
//! 1986): take the earliest event, and plan the event again at a random distance. `cargo bench -p schedlab-sim --bench
//! queues`
#![allow(clippy::print_stdout, missing_docs, reason = "a bench prints its rates")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::hint::black_box;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use schedlab_sim::time::{Agenda, Random, Timers};

const HOLDS: u64 = 4_000_000;

/// A queue of (time, owner).
trait Queue {
    fn plan(&mut self, at: u64, owner: u32);
    fn next(&mut self) -> (u64, u32);
}

/// Binary heap of the standard library, with packed keys.
#[derive(Default)]
struct Binary {
    heap: BinaryHeap<Reverse<u128>>,
    order: u64,
}

impl Queue for Binary {
    fn plan(&mut self, at: u64, owner: u32) {
        self.order += 1;
        self.heap.push(Reverse(u128::from(at) << 64 | u128::from(self.order << 20 | u64::from(owner))));
    }

    fn next(&mut self) -> (u64, u32) {
        let Reverse(key) = self.heap.pop().expect("never empty");
        ((key >> 64) as u64, (key & 0xf_ffff) as u32)
    }
}

/// Timers of the simulator: a short sorted array, and a heap for the timers that do not fit.
impl Queue for Timers {
    fn plan(&mut self, at: u64, owner: u32) {
        self.arm(at, owner);
    }

    fn next(&mut self) -> (u64, u32) {
        let timer = self.pop().expect("never empty");
        (timer.at, timer.owner)
    }
}

/// Agenda of the simulator: each owner has one slot, and planning replaces its event.
impl Queue for Agenda {
    fn plan(&mut self, at: u64, owner: u32) {
        self.set(owner as usize, at);
    }

    fn next(&mut self) -> (u64, u32) {
        let (at, slot) = self.first().expect("never empty");
        (at, slot as u32)
    }
}

/// A calendar queue (Brown, "Calendar Queues", CACM 31, 1988) with days of fixed length.
struct Calendar {
    days: Vec<Vec<u128>>,
    shift: u32,
    today: u64,
    order: u64,
}

impl Calendar {
    fn new(mean: u64, events: u64) -> Self {
        let shift = (mean * 2 / events).max(1).ilog2() + 1;
        Self { days: vec![Vec::new(); (events * 2).next_power_of_two() as usize], shift, today: 0, order: 0 }
    }
}

impl Queue for Calendar {
    fn plan(&mut self, at: u64, owner: u32) {
        self.order += 1;
        let key = u128::from(at) << 64 | u128::from(self.order << 20 | u64::from(owner));
        let length = self.days.len() as u64;
        let day = &mut self.days[((at >> self.shift) % length) as usize];
        let place = day.iter().rposition(|other| *other > key).map_or(0, |at| at + 1);
        day.insert(place, key);
    }

    fn next(&mut self) -> (u64, u32) {
        loop {
            let length = self.days.len() as u64;
            let day = &mut self.days[(self.today % length) as usize];
            if let Some(key) =
                day.last().copied().filter(|key| (key >> 64) as u64 >> self.shift <= self.today)
            {
                day.pop();
                return ((key >> 64) as u64, (key & 0xf_ffff) as u32);
            }
            self.today += 1;
        }
    }
}

/// A balanced tree.
#[derive(Default)]
struct Tree {
    map: BTreeMap<(u64, u64), u32>,
    order: u64,
}

impl Queue for Tree {
    fn plan(&mut self, at: u64, owner: u32) {
        self.order += 1;
        self.map.insert((at, self.order), owner);
    }

    fn next(&mut self) -> (u64, u32) {
        let ((at, _), owner) = self.map.pop_first().expect("never empty");
        (at, owner)
    }
}

fn main() {
    println!("million holds per second of CPU time");
    println!(
        "{:>8} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "events", "binary heap", "4-ary timers", "agenda", "calendar", "tree"
    );
    for events in [16, 128, 640, 10_000] {
        let mean = 1_000_000;
        let binary = rate(&mut Binary::default(), events, mean);
        let timers = rate(&mut Timers::default(), events, mean);
        let agenda = if events < 1000 {
            format!("{:.1}", rate(&mut Agenda::new(events as usize), events, mean))
        } else {
            "-".into()
        };
        let calendar = rate(&mut Calendar::new(mean, events), events, mean);
        let tree = rate(&mut Tree::default(), events, mean);
        println!("{events:>8} {binary:>12.1} {timers:>12.1} {agenda:>12} {calendar:>12.1} {tree:>12.1}");
    }
}

fn rate(queue: &mut impl Queue, events: u64, mean: u64) -> f64 {
    let mut random = Random::new(events);
    (0..events).for_each(|owner| queue.plan(random.below(2 * mean), owner as u32));
    let start = cpu_time();
    for _ in 0..HOLDS {
        let (at, owner) = queue.next();
        queue.plan(at + 1 + random.below(2 * mean), black_box(owner));
    }
    HOLDS as f64 / (cpu_time() - start).as_secs_f64() / 1e6
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a clock that always exists").into()
}
