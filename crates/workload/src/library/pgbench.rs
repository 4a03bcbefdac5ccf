//! pgbench: clients of a database, each with a backend process, which contend for locks and buffers.
//!
//! The shape of pgbench's built-in select-only and TPC-B-like scripts (pgbench(1)) on PostgreSQL. Queries go over a
//! Unix socket or loopback TCP. A backend parses and plans (computation), finds pages by their buffer partition's lock, and reads them in
//! shared memory. A write also logs and, in TPC-B, keeps the branch's row lock from its update to the commit.

use super::prelude::*;

parameters! {
    /// Clients and backends with the lock and buffer contention of a database (pgbench's built-in scripts).
    ///
    /// This workload is a model: query_time sets the cost of a transaction, which differs from the cost in
    /// PostgreSQL on the same machine.
    pub struct Pgbench, timed {
        /// Clients, each with a backend process.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "c"))]
        pub clients: u32 = 1,
        /// Kind of transaction.
        pub mode: Script = Script::ReadOnly,
        /// Branches, each with a row lock (pgbench's scale factor).
        #[schemars(range(min = 1, max = 100_000), extend("short" = "s"))]
        pub scale: u32 = 10,
        /// Shared buffers.
        #[serde(rename = "buffers")]
        #[schemars(range(min = 1, max = 1 << 20), extend("unit" = "MiB"))]
        pub buffers_mib: u64 = 128,
        /// Mean computation of a backend for each query: parsing, planning and executing. The computation is uniformly
        /// distributed between half and one and a half of this time.
        #[serde(rename = "query_time")]
        #[schemars(with = "Time")]
        pub query_ns: u64 = QUERY_NS,
        /// Threads of pgbench (pgbench -j); fewer than clients: a thread serves its clients in turn. 0: one per client.
        #[schemars(range(min = 0, max = MAX_TASKS), extend("short" = "j"))]
        pub threads: u32 = 0,
        /// Computation of a client's thread for each transaction.
        #[serde(rename = "client_time")]
        #[schemars(with = "Time")]
        pub client_ns: u64 = 0,
        /// Connect over loopback TCP (pgbench -h) instead of a Unix socket.
        pub tcp: bool = false,
        /// Time of a commit to reach the disk; 0s for a disk in memory.
        #[serde(rename = "flush_time")]
        #[schemars(with = "Time")]
        pub flush_ns: u64 = 0,
    }
}

/// Kind of transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Script {
    /// Select-only: one query.
    #[serde(rename = "ro")]
    ReadOnly,
    /// TPC-B-like: seven queries, including three updates and one insert.
    #[serde(rename = "rw")]
    ReadWrite,
}

/// Locks over the buffer table (`NUM_BUFFER_PARTITIONS`, PostgreSQL since 9.5).
const PARTITIONS: u32 = 128;

/// Locks for inserting into the log (`NUM_XLOGINSERT_LOCKS`, PostgreSQL since 9.4).
const LOG_LOCKS: u32 = 8;

/// Snapshots of a query of the simple protocol: for planning and for execution (`exec_simple_query()`). Each acquires
/// ProcArrayLock in shared mode, an atomic operation on a line that all backends modify (`GetSnapshotData()`). Acquisition
/// and release count as a single operation: the line rarely moves between them.
const SNAPSHOTS: u32 = 2;

/// Size of a page (`BLCKSZ`, PostgreSQL's default).
const PAGE: u64 = 8192;

/// Pages of a row access: three levels of an index of 10^5 to 10^7 rows, and the page of the row.
const PAGES: u64 = 4;

/// Bytes of a page that a binary search and a row access touch: about eight cache lines.
const SEARCHED: u64 = 512;

/// Computation under a partition's lock, in nanoseconds: a hash lookup and a pin.
const PIN_NS: u64 = 150;

/// Computation under a log lock, in nanoseconds: reserving and copying a record of about 100 bytes.
const LOG_NS: u64 = 400;

/// Default computation per query, in nanoseconds: simple-protocol queries on primary keys take 20 to 40 µs of a
/// backend's CPU time on current machines.
const QUERY_NS: u64 = 30_000;

impl Workload for Pgbench {
    const NAME: &'static str = "pgbench-native";
    const COMMAND: &'static str = "pgbench";
    const JUDGED: &'static [&'static str] = &["tps"];

    fn build(&self) -> Result<Program, ParameterError> {
        let (queries, backend) = match self.mode {
            Script::ReadOnly => self.read_only(),
            Script::ReadWrite => self.read_write(),
        };
        let kind = if self.tcp { ChannelKind::Tcp } else { ChannelKind::Unix };
        let rate = Quantity::Rate("transactions".to_owned());
        let mut metrics = vec![higher("tps", "transactions/s", rate, 1.0)];
        metrics.extend(latency("transaction"));
        let shared = Scope::Program;
        Ok(Program {
            window: self.window(),
            resources: Resources {
                // libpq sets TCP_NODELAY.
                channels: vec![Channel { no_delay: self.tcp, ..channels("session", kind, self.clients) }],
                locks: vec![
                    locks("partition", PARTITIONS, shared),
                    locks("log", LOG_LOCKS, shared),
                    locks("flush", 1, shared),
                    locks("branch", self.scale, shared),
                ],
                semaphores: vec![semaphores("snapshot", 1, shared, 0)],
                regions: vec![region("buffers", self.buffers_mib << 20, shared)],
                slots: vec![slots("begun", self.clients, shared)],
                ..Resources::default()
            },
            counters: names(["transactions"]),
            series: names(["transaction"]),
            groups: vec![
                group("backend", self.clients, Mode::Process, vec![until_closed(backend)]),
                group("client", self.threads(), Mode::Process, self.thread(&queries)),
            ],
            metrics,
            ..Program::named(Self::COMMAND)
        })
    }
}

impl Pgbench {
    /// Number of the client's threads.
    fn threads(&self) -> u32 {
        if self.threads == 0 { self.clients } else { self.threads.min(self.clients) }
    }

    /// A thread of pgbench. Its clients are those whose number is the thread's, modulo the number of threads. pgbench
    /// waits for the reply of any of its clients; this thread takes the replies in the order of the queries.
    fn thread(&self, queries: &[Query]) -> Vec<Op> {
        let threads = u64::from(self.threads());
        let rounded = Expr::from(u64::from(self.clients) + threads - 1);
        let number = Expr::from(Operation::Sub(rounded, Expr::task())) / threads;
        let client = || Expr::task() + Expr::loop_index(0) * threads;
        let of_all = |ops: Vec<Op>| times(number.clone(), ops);
        let (session, begun) = (|| at("session", client()), || at("begun", client()));
        let mut transaction = Vec::new();
        for (query, next) in queries.iter().zip(queries.iter().cycle().skip(1)) {
            let mut ops = vec![poll_reply(session(), query.reply)];
            if transaction.len() + 1 == queries.len() {
                ops.extend([lap(begun(), "transaction"), count("transactions", 1u64)]);
                if self.client_ns > 0 {
                    ops.push(compute(self.client_ns));
                }
            }
            ops.push(send(session(), next.request));
            transaction.push(of_all(ops));
        }
        let first = &queries[0];
        vec![
            of_all(vec![stamp(begun()), send(session(), first.request)]),
            within_window(transaction),
            of_all(vec![poll_reply(session(), first.reply)]),
        ]
    }

    fn read_only(&self) -> (Vec<Query>, Vec<Op>) {
        let select = Query { request: 62, reply: 68, work: self.row(false) };
        let answered = select.answered(self.query_ns);
        (vec![select], answered)
    }

    /// `BEGIN; UPDATE accounts; SELECT; UPDATE tellers; UPDATE branches; INSERT history; END`, with message sizes of the
    /// simple protocol. The backend draws the branch once and keeps its row locked until the commit.
    fn read_write(&self) -> (Vec<Query>, Vec<Op>) {
        let query = |request, reply, work| Query { request, reply, work };
        let branch = || at("branch", Expr::loop_index(0));
        let lock = Op::Lock { lock: branch() };
        let queries = [
            (query(12, 17, vec![]), 10),
            (query(82, 20, self.row(true)), 1),
            (query(62, 68, self.row(false)), 1),
            (query(77, 20, self.row(true)), 1),
            (query(78, 20, [vec![lock], self.row(true)].concat()), 1),
            (query(124, 22, [self.row(true)].concat()), 1),
            (query(10, 18, [self.commit(), vec![Op::Unlock { lock: branch() }]].concat()), 10),
        ];
        // The start and the end of a transaction need no plan: a tenth of the computation of a query.
        let answered =
            queries.iter().flat_map(|(query, part)| query.answered(self.query_ns / part)).collect();
        // The branch is drawn when the first query of a transaction can be read. The end of the session ends the loop.
        let backend = vec![with(Expr::random(0u64, self.scale), answered)];
        (queries.into_iter().map(|(query, _)| query).collect(), backend)
    }

    /// Find and read a row; a write logs as well.
    fn row(&self, write: bool) -> Vec<Op> {
        let pages = (self.buffers_mib << 20) / PAGE;
        let partition = at("partition", Expr::random(0u64, PARTITIONS));
        let look = |write| Op::Touch {
            region: "buffers".into(),
            offset: Expr::random(0u64, pages) * PAGE,
            bytes: SEARCHED.into(),
            stride: 64,
            pattern: crate::program::Pattern::Sequential,
            write,
        };
        let lookup = |write| {
            // One draw for both operations, so that the same partition is locked and unlocked.
            let numbered = at("partition", Expr::loop_index(0));
            let pin = with(partition.index.clone(), locked(numbered, vec![compute(PIN_NS)]));
            vec![pin, look(write)]
        };
        let snapshots = (0..SNAPSHOTS).map(|_| up("snapshot", 1u64));
        let mut ops: Vec<Op> = snapshots.collect();
        ops.push(times(PAGES - 1, lookup(false)));
        ops.extend(lookup(write));
        if write {
            let log = at("log", Expr::loop_index(0));
            ops.push(with(Expr::random(0u64, LOG_LOCKS), locked(log, vec![compute(LOG_NS)])));
        }
        ops
    }

    /// Make the transaction durable: one backend at a time writes the log.
    fn commit(&self) -> Vec<Op> {
        let mut write = vec![compute(LOG_NS)];
        if self.flush_ns > 0 {
            write.push(Op::Sleep { ns: self.flush_ns.into() });
        }
        locked("flush", write)
    }
}

/// Time of a query's computation. Queries that all took the same time would follow each other in a rhythm without collisions.
///
/// The times of `pgbench -S` with one client of PostgreSQL 15 (38,410 transactions on a virtual machine) have a standard
/// deviation of 0.32 of their mean, and of 0.18 without the slowest 1 %. The standard deviation of this distribution is 0.29.
fn varied(mean_ns: u64) -> Expr {
    Expr::random(mean_ns / 2, mean_ns.saturating_mul(3) / 2 + 1)
}

/// Receive a reply as libpq does: after a read in vain by a wait. pgbench waits by `ppoll(2)` for any of its sessions, this client by
/// `poll(2)` for one.
fn poll_reply(session: Ref, bytes: u64) -> Op {
    receive_by(session, bytes, Direction::Backward, Take::Poll)
}

/// A query: sizes of its messages in bytes, and the operations of the backend in addition to its computation.
struct Query {
    request: u64,
    reply: u64,
    work: Vec<Op>,
}

impl Query {
    fn answered(&self, compute_ns: u64) -> Vec<Op> {
        let session = || at("session", Expr::task());
        // secure_read() does so since PostgreSQL 9.6. For each transaction `strace` shows a read that finds no bytes, a wait, and the
        // read of the request.
        let request = receive_by(session(), self.request, Direction::Forward, Take::Epoll);
        let begin = [request, compute(varied(compute_ns))];
        begin.into_iter().chain(self.work.clone()).chain([reply(session(), self.reply)]).collect()
    }
}
