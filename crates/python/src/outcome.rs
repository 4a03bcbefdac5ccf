//! Conversion of an outcome to a dictionary of plain values.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use schedlab_sim::machine::Distance;
use schedlab_sim::observe::Histogram;
use schedlab_sim::schedstats::{Report, Throughout};
use schedlab_sim::{Account, End, Kernel, Ledger, Outcome, Simulation};
use schedlab_workload::measure::Measured;
use schedlab_workload::program::Better;
use serde_json::Value;

/// Quantiles of a histogram that are returned, in thousandths.
const QUANTILES: [u64; 6] = [500, 750, 900, 950, 990, 999];

/// The outcome of a run; times in nanoseconds.
pub fn to_dict<'py>(
    py: Python<'py>,
    simulation: &Simulation,
    pids: &[usize],
    outcome: Outcome,
) -> PyResult<Bound<'py, PyDict>> {
    let program = simulation.plan().program();
    let dictionary = PyDict::new(py);
    let observed = &outcome.observed;
    dictionary.set_item("program", &program.name)?;
    dictionary.set_item("end", if outcome.end == End::Finished { "finished" } else { "horizon" })?;
    dictionary.set_item("end_ns", outcome.end_ns)?;
    dictionary.set_item("elapsed_ns", observed.elapsed_ns)?;
    dictionary.set_item("user_ns", observed.user_ns)?;
    dictionary.set_item("system_ns", observed.system_ns)?;
    dictionary.set_item("digest", format!("{:016x}", outcome.digest()))?;
    dictionary.set_item("ledger", ledger(py, &outcome.ledger)?)?;
    dictionary.set_item("latencies", latencies(py, &outcome)?)?;
    dictionary.set_item("tasks", tasks(py, &outcome)?)?;
    dictionary.set_item("locks", locks(py, &outcome)?)?;
    dictionary.set_item("groups", groups(py, &outcome)?)?;
    dictionary.set_item("counters", counters(py, &outcome)?)?;
    let pairs = program.counters.iter().zip(&observed.counters);
    dictionary.set_item("program_counters", pairs.collect::<std::collections::BTreeMap<_, _>>())?;
    let metrics = outcome.metrics.iter().map(|each| metric(py, each)).collect::<PyResult<Vec<_>>>()?;
    dictionary.set_item("metrics", metrics)?;
    dictionary.set_item("schedstats", schedstats(py, simulation.kernel(), pids, &outcome)?)?;
    Ok(dictionary)
}

/// Scheduler statistics: whether the kernel has a switch for the statistics, when the statistics were on, and
/// the kernel's files.
fn schedstats<'py>(
    py: Python<'py>,
    kernel: &Kernel,
    pids: &[usize],
    outcome: &Outcome,
) -> PyResult<Bound<'py, PyDict>> {
    let report = outcome.schedstats.as_ref();
    let (state, at_end) = match report.map(|report| report.throughout) {
        None => ("off", false),
        Some(Throughout::On) => ("on", true),
        Some(Throughout::Partly { at_end }) => ("partly", at_end),
    };
    let dictionary = PyDict::new(py);
    dictionary.set_item("switch", kernel.schedstats.is_some())?;
    dictionary.set_item("state", state)?;
    dictionary.set_item("on_at_end", at_end)?;
    dictionary.set_item("file", report.map(Report::file))?;
    let tasks = PyDict::new(py);
    for (pid, layout) in pids.iter().zip(kernel.schedstats.iter().cycle()) {
        if let Some(task) = outcome.tasks.get(pid - 1) {
            tasks.set_item(pid, task.file(*pid, layout, at_end))?;
        }
    }
    dictionary.set_item("tasks", tasks)?;
    Ok(dictionary)
}

fn metric<'py>(py: Python<'py>, measured: &Measured) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("name", &measured.name)?;
    dictionary.set_item("unit", &measured.unit)?;
    dictionary.set_item("direction", if measured.direction == Better::Lower { "lower" } else { "higher" })?;
    dictionary.set_item("value", measured.value)?;
    dictionary.set_item("samples", measured.samples.as_ref())?;
    Ok(dictionary)
}

/// Names of the accounts, and for each CPU a list of their times.
fn ledger<'py>(py: Python<'py>, ledger: &Ledger) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("closed_ns", ledger.closed_ns())?;
    dictionary.set_item("accounts", Account::ALL.iter().map(|account| account.name()).collect::<Vec<_>>())?;
    let of_cpu = |cpu| Account::ALL.iter().map(|account| ledger.of(cpu, *account)).collect::<Vec<_>>();
    dictionary.set_item("cpus", (0..ledger.cpus()).map(of_cpu).collect::<Vec<_>>())?;
    Ok(dictionary)
}

/// Distributions by name; wake-up latencies of all CPUs together and of each CPU.
fn latencies<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let all = &outcome.histograms;
    let dictionary = PyDict::new(py);
    dictionary.set_item("wakeup", histogram(py, &all.all_wakeups())?)?;
    for (kind, each) in ["busy", "idle", "newidle"].iter().zip(&all.balance_cost) {
        dictionary.set_item(format!("balance_cost.{kind}"), histogram(py, each)?)?;
    }
    dictionary.set_item("idle", histogram(py, &all.idle)?)?;
    for (cpu, each) in all.wakeup_latency.iter().enumerate() {
        dictionary.set_item(format!("wakeup.cpu{cpu}"), histogram(py, each)?)?;
    }
    Ok(dictionary)
}

fn histogram<'py>(py: Python<'py>, histogram: &Histogram) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("count", histogram.count())?;
    dictionary.set_item("sum_ns", histogram.sum_ns())?;
    dictionary.set_item("min_ns", histogram.least_ns())?;
    dictionary.set_item("mean_ns", histogram.mean_ns())?;
    dictionary.set_item("max_ns", histogram.most_ns())?;
    for per_mille in QUANTILES {
        let name = format!("p{}_ns", per_mille as f64 / 10.0);
        dictionary.set_item(name, histogram.quantile_ns(per_mille))?;
    }
    dictionary.set_item("buckets", histogram.buckets().collect::<Vec<_>>())?;
    Ok(dictionary)
}

fn tasks<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for task in &outcome.tasks {
        let each = PyDict::new(py);
        each.set_item("name", &task.name)?;
        each.set_item("ran_ns", task.ran_ns)?;
        each.set_item("user_ns", task.user_ns)?;
        each.set_item("voluntary_switches", task.switches.0)?;
        each.set_item("involuntary_switches", task.switches.1)?;
        each.set_item("migrations", task.migrations)?;
        each.set_item("wakeups", task.wakeups.0)?;
        each.set_item("wakeup_latency_ns", task.wakeups.1)?;
        each.set_item("wakeup_latency_max_ns", task.wakeups.2)?;
        let statistics = task.statistics.as_ref().map(|counts| {
            let named = |(name, value, time): (&str, u64, bool)| {
                (if time { format!("{name}_ns") } else { name.to_owned() }, value)
            };
            counts.lines().map(named).into_iter().collect::<std::collections::BTreeMap<_, _>>()
        });
        each.set_item("statistics", statistics)?;
        list.append(each)?;
    }
    Ok(list)
}

/// The program's locks, one entry for all locks of a name. `worst_waited_ns` is the longest total waiting time of a single
/// lock.
fn locks<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for report in &outcome.locks {
        let each = PyDict::new(py);
        each.set_item("name", &report.name)?;
        each.set_item("locks", report.locks)?;
        each.set_item("acquired", report.all.acquired)?;
        each.set_item("contended", report.all.contended)?;
        each.set_item("waited_ns", report.all.waited_ns)?;
        each.set_item("longest_ns", report.all.longest_ns)?;
        each.set_item("worst_waited_ns", report.worst.waited_ns)?;
        for (distance, count) in Distance::ALL.iter().zip(report.all.distances) {
            each.set_item(format!("acquired_from_{}", distance.name()), count)?;
        }
        list.append(each)?;
    }
    Ok(list)
}

/// The control groups' counters, by the names of their metrics without the group.
fn groups<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for group in &outcome.groups {
        let each = PyDict::new(py);
        each.set_item("usage", group.usage_ns as f64 / 1e9)?;
        each.set_item("periods", group.nr_periods)?;
        each.set_item("nr_throttled", group.nr_throttled)?;
        each.set_item("throttled", group.throttled_ns as f64 / 1e9)?;
        dictionary.set_item(&group.name, each)?;
    }
    Ok(dictionary)
}

/// Counters by flat names: `wakeups.llc`, `busy_balance.calls`.
fn counters<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    flatten(&dictionary, "", &serde_json::to_value(&outcome.counters).unwrap_or_default())?;
    Ok(dictionary)
}

fn flatten(dictionary: &Bound<'_, PyDict>, name: &str, value: &Value) -> PyResult<()> {
    let inner = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match value {
        Value::Object(parts) => {
            for (part, value) in parts {
                flatten(dictionary, &inner(part), value)?;
            }
        }
        Value::Array(parts) if parts.len() == Distance::COUNT => {
            for (distance, value) in Distance::ALL.iter().zip(parts) {
                flatten(dictionary, &inner(distance.name()), value)?;
            }
        }
        _ => dictionary.set_item(name, value.as_u64())?,
    }
    Ok(())
}
