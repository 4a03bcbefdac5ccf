//! How long a CPU waits for the line of a counter that another CPU wrote last: the measurement that the simulator's rule for the counters of
//! schedstats is compared with (docs/simulator-model.md, scheduler statistics). On x86-64; CPUs 0 and 1 must not be threads of one core.
//!
//! Two threads on CPUs 0 and 1 take turns. A turn has sixteen steps, each of some instructions, one addition to a counter of its own line,
//! the same instructions again, and an atomic operation. Both threads write the same counters. The printed times are for one step:
//! without counters, and what a counter adds if the next instructions do not need its value (*added*), and if the thread reads the line,
//! waits for it, and writes it at the end of its turn (*taken*). `cargo bench -p schedlab-load --bench lines`
#![allow(clippy::print_stdout, missing_docs, reason = "a bench prints its figures")]

#[cfg(target_arch = "x86_64")]
fn main() {
    turns::main();
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("not measured: the bench has instructions of x86-64");
}

#[cfg(target_arch = "x86_64")]
mod turns {
    use std::arch::asm;
    use std::hint::spin_loop;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::time::{ClockId, clock_gettime};
    use nix::unistd::Pid;

    const STEPS: usize = 16;
    const TURNS: u64 = 100_000;
    const REPEATS: usize = 7;

    /// A word whose line and the neighbouring lines, which a core may prefetch, hold nothing else.
    #[repr(align(256))]
    struct Line(AtomicU64);

    static TURN: Line = Line(AtomicU64::new(0));
    static COUNTERS: [Line; STEPS] = [const { Line(AtomicU64::new(0)) }; STEPS];
    static OWN: [Line; 2] = [const { Line(AtomicU64::new(0)) }; 2];

    #[derive(Clone, Copy, PartialEq)]
    enum Counters {
        None,
        Added,
        Taken,
    }

    fn instructions(number: u64) {
        for _ in 0..number / 4 {
            // SAFETY: adds to a register of its own.
            unsafe { asm!("add {0}, 1", "xor {0}, 5", inout(reg) number => _, options(nomem, nostack)) };
        }
    }

    /// Wait for all earlier loads before any later instruction (Intel SDM, volume 2, LFENCE).
    fn lfence() {
        // SAFETY: has no operands.
        unsafe { asm!("lfence", options(nostack)) };
    }

    fn turn(thread: usize, length: u64, counters: Counters) {
        for counter in &COUNTERS {
            instructions(length);
            match counters {
                Counters::None => {}
                Counters::Added => {
                    let value = counter.0.load(Ordering::Relaxed);
                    counter.0.store(value + 1, Ordering::Relaxed);
                }
                Counters::Taken => {
                    std::hint::black_box(counter.0.load(Ordering::Relaxed));
                    lfence();
                }
            }
            instructions(length);
            OWN[thread].0.fetch_add(1, Ordering::SeqCst);
        }
        if counters == Counters::Taken {
            COUNTERS.iter().for_each(|counter| counter.0.store(1, Ordering::Relaxed));
        }
    }

    fn take_turns(thread: usize, length: u64, counters: Counters) {
        let mut cpus = CpuSet::new();
        cpus.set(thread)
            .and_then(|()| sched_setaffinity(Pid::from_raw(0), &cpus))
            .expect("the machine has two CPUs");
        for number in 0..TURNS {
            while TURN.0.load(Ordering::Acquire) != 2 * number + thread as u64 {
                spin_loop();
            }
            turn(thread, length, counters);
            TURN.0.store(2 * number + thread as u64 + 1, Ordering::Release);
        }
    }

    fn now() -> Duration {
        clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock").into()
    }

    /// Nanoseconds of a step: the median of several measurements.
    fn step_ns(length: u64, counters: Counters) -> f64 {
        let mut times: Vec<Duration> = (0..REPEATS)
            .map(|_| {
                TURN.0.store(0, Ordering::SeqCst);
                let began = now();
                std::thread::scope(|scope| {
                    for thread in 0..2 {
                        scope.spawn(move || take_turns(thread, length, counters));
                    }
                });
                now() - began
            })
            .collect();
        times.sort();
        times[REPEATS / 2].as_nanos() as f64 / (2 * TURNS) as f64 / STEPS as f64
    }

    pub fn main() {
        println!("instructions  step, ns  added, ns  taken, ns");
        for length in [40, 80, 120, 200, 300, 400] {
            let [none, added, taken] =
                [Counters::None, Counters::Added, Counters::Taken].map(|counters| step_ns(length, counters));
            println!("{:>12}  {none:>8.1}  {:>9.1}  {:>9.1}", 2 * length, added - none, taken - none);
        }
    }
}
