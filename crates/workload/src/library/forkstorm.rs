//! forkstorm: tasks that start children and wait for each child, one after the other, as fast as possible.

use super::prelude::*;

parameters! {
    /// Tasks fork children and wait for the children as fast as possible.
    ///
    /// latency is the time from before the fork until the child has been reaped.
    pub struct Forkstorm, timed {
        /// Tasks that fork.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "n"))]
        pub tasks: u32 = 2,
        /// Children execute a new image before their exit.
        pub exec: bool = false,
    }
}

impl Workload for Forkstorm {
    const NAME: &'static str = "forkstorm";
    const JUDGED: &'static [&'static str] = &["forks"];

    fn build(&self) -> Result<Program, ParameterError> {
        let image = Image::Work { ns: 0u64.into(), bytes: 0u64.into(), files: 0u64.into() };
        let child = if self.exec { vec![Op::Exec { image }] } else { Vec::new() };
        let body = within_window(vec![
            stamp("forked"),
            fork(child),
            wait_all(),
            record("forked", "child"),
            count("forks", 1u64),
        ]);
        let mut metrics = vec![higher("forks", "forks/s", Quantity::Rate("forks".to_owned()), 1.0)];
        metrics.extend(latency("child"));
        Ok(Program {
            window: self.window(),
            resources: Resources { slots: vec![slots("forked", 1, Scope::Task)], ..Resources::default() },
            counters: names(["forks"]),
            series: names(["child"]),
            groups: vec![group("forker", self.tasks, Mode::Process, vec![body])],
            metrics,
            ..Program::named(Self::COMMAND)
        })
    }
}
