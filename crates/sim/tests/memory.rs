//! The estimate of a simulation's memory, against the bytes that an allocator counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use schedlab_sim::{Config, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::program::Program;

/// The system's allocator, which counts the bytes in use and their maximum, except a block of `PROBE` bytes.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static PROBE: AtomicUsize = AtomicUsize::new(0);

fn counted(layout: Layout) -> usize {
    if layout.size() == PROBE.load(Relaxed) { 0 } else { layout.size() }
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(counted(layout), Relaxed) + counted(layout);
        MOST.fetch_max(used, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        USED.fetch_sub(counted(layout), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Estimate and maximum use of a program, without the constant part of the estimate.
fn estimated_and_used(program: Program) -> (f64, f64) {
    let config = Config { samples: 1000, ..Config::default() };
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel("linux-6.12").unwrap());
    let simulation = Simulation::new(machine, kernel, Plan::new(program).unwrap(), config).unwrap();
    // A run first allocates its estimate, to check whether the process can allocate that memory.
    PROBE.store(simulation.memory_bytes() as usize, Relaxed);
    let before = USED.load(Relaxed);
    MOST.store(before, Relaxed);
    let outcome = simulation.run().unwrap();
    drop(outcome);
    let used = MOST.load(Relaxed) - before;
    ((simulation.memory_bytes() - (16 << 20)) as f64, used as f64)
}

// The only test of its process, because all tests of a process share the counters of the allocator.
#[test]
fn a_run_needs_at_most_its_estimate_and_at_least_half_of_it() {
    let hackbench =
        |channel, loops| Hackbench { groups: 60, channel, loops, ..Hackbench::default() }.program().unwrap();
    // The estimate has full pipes, which take more messages to fill than sockets.
    for (name, program) in
        [("sockets", hackbench(Carrier::Socket, 30)), ("pipes", hackbench(Carrier::Pipe, 50))]
    {
        let (estimated, used) = estimated_and_used(program);
        assert!(used <= estimated + 1e6 && used >= estimated / 2.0, "{name}: {used} of {estimated}");
    }
}
