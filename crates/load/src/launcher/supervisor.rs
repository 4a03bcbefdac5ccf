//! The supervisor: starts the servers, times the command, and ends every process.

use std::fs::{self, File};
use std::io::{self, Write};
use std::time::Instant;

use nix::sys::signal::Signal;
use nix::unistd::setsid;

use super::attributes::InEffect;
use super::events::{Event, Events};
use super::order::{Order, Server};
use super::report::{Report, Run, SCHEMA, Sink};
use super::server::{self, Running};
use super::start::{NotStarted, Streams, start};
use super::timed::Timed;
use crate::error::LoadError;
use crate::strays::kill_descendants;
use crate::sys::clock;
use crate::sys::process::{self, Ended, How, Pid, Usage};

/// Exit status when the command ran into its time limit, as of timeout(1).
const TIMED_OUT: u8 = 124;

/// Carry out `order` in a separate process, whose parent is `front`; return the exit status. When the
/// function returns, no descendant remains but those that the order keeps.
pub fn run(order: &Order, servers: &[Server], front: Pid) -> Result<u8, LoadError> {
    process::die_with(front, Signal::SIGTERM).map_err(LoadError::system("watching the front"))?;
    setsid().map_err(io::Error::from).map_err(LoadError::system("starting a session"))?;
    process::adopt_orphans().map_err(LoadError::system("adopting orphans"))?;
    let mut events = Events::new().map_err(LoadError::system("receiving signals"))?;
    let mut running = Vec::new();
    let done = carry_out(order, servers, &mut events, &mut running);
    stop(&running, order, &mut events);
    if !order.keep_strays || done.is_err() {
        kill_descendants(&[]);
    }
    done
}

fn carry_out<'s>(
    order: &Order,
    servers: &'s [Server],
    events: &mut Events,
    running: &mut Vec<Running<'s>>,
) -> Result<u8, LoadError> {
    let sink = Sink::open(order.report.as_ref())?;
    let mut started = order.started.map(process::take_over).transpose()?.map(File::from);
    for each in servers {
        running.push(server::bring_up(each, order, events)?);
    }
    let begin = clock::now_ns();
    let mut timed = Timed::new(&order.at);
    let deadline = order.timeout.map(|timeout| Instant::now() + timeout);
    let mut runs = Vec::new();
    let mut usage = Usage::default();
    let mut strays_killed = 0;
    loop {
        let (done, why) = run_once(order, deadline, events, running, &mut timed, started.take())?;
        usage = usage.plus(done.end.usage);
        strays_killed += done.strays_killed;
        runs.push(Run {
            elapsed_ns: done.elapsed_ns,
            user_us: done.end.usage.user_us,
            system_us: done.end.usage.system_us,
        });
        if why == Why::Itself
            && done.end.how == How::Exited(0)
            && (runs.len() as u64) < u64::from(order.repeat)
        {
            continue;
        }
        let elapsed_ns = if order.repeat == 1 { done.elapsed_ns } else { clock::now_ns() - begin };
        let status = match (why, done.end.how) {
            (Why::Timeout, _) => TIMED_OUT,
            (Why::Signal(signal), _) | (Why::Itself, How::Killed(signal)) => 128 + signal as u8,
            (Why::Itself, How::Exited(code)) => code as u8,
        };
        if order.repeat == 1 {
            runs.clear();
        }
        let timed = timed.into_made();
        sink.write(&Report { timed, ..describe(done, why, elapsed_ns, runs, usage, strays_killed) })?;
        return Ok(status);
    }
}

/// A run of the command.
struct Done {
    end: Ended,
    elapsed_ns: u64,
    attributes: InEffect,
    strays_killed: u32,
    sched: String,
    others_us: Option<u64>,
}

/// Run the command, and kill its remaining descendants but the servers and those that the order keeps.
fn run_once(
    order: &Order,
    deadline: Option<Instant>,
    events: &mut Events,
    servers: &mut Vec<Running<'_>>,
    timed: &mut Timed<'_>,
    announced: Option<File>,
) -> Result<(Done, Why), LoadError> {
    let begin = clock::now_ns();
    let started = match start(&order.command, &order.wanted, Streams::Inherited) {
        Ok(started) => started,
        Err(NotStarted::Exec(status, text)) => return Err(LoadError::Exec { status, text }),
        Err(NotStarted::Attributes(text) | NotStarted::System(text)) => return Err(LoadError::Launch(text)),
    };
    if let Some(mut announced) = announced {
        announced.write_all(b"+")?;
    }
    let why = await_end(started.pid, deadline, order, events, servers, timed)?;
    let elapsed_ns = clock::now_ns() - begin;
    // Between its end and its reaping, /proc has the figures of the command's complete run time.
    let tree = process::usage_of_ended(started.pid).map_err(LoadError::system("waiting for the command"))?;
    // Read after the usage of all threads: the first thread may still be leaving its CPU.
    let first_ns = first_thread_ns(started.pid);
    let others_us = first_ns.map(|ns| (tree.user_us + tree.system_us).saturating_sub(ns / 1000));
    let sched = fs::read_to_string(format!("/proc/{}/sched", started.pid)).unwrap_or_default();
    let end = process::wait(started.pid).map_err(LoadError::system("waiting for the command"))?;
    server::restart_loads(servers, order)?;
    server::ensure_alive(servers)?;
    let spared: Vec<Pid> = servers.iter().map(|server| server.pid).collect();
    let keeps = order.keep_strays && why == Why::Itself;
    let strays_killed = if keeps { 0 } else { kill_descendants(&spared) };
    Ok((Done { end, elapsed_ns, attributes: started.attributes, strays_killed, sched, others_us }, why))
}

/// CPU time of a process's first thread: the first number of `/proc/PID/schedstat` (Documentation/scheduler/sched-stats.rst).
fn first_thread_ns(pid: Pid) -> Option<u64> {
    fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?.split(' ').next()?.parse().ok()
}

/// Why the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Itself,
    Timeout,
    Signal(i32),
}

/// Wait for the command's end, or kill the command. The caller reaps the command. After a stop signal the command has the time
/// `last_words` to end without SIGKILL.
fn await_end(
    pid: Pid,
    mut deadline: Option<Instant>,
    order: &Order,
    events: &mut Events,
    servers: &mut [Running<'_>],
    timed: &mut Timed<'_>,
) -> Result<Why, LoadError> {
    let mut why = Why::Itself;
    let mut until = deadline;
    server::restart_loads(servers, order)?;
    loop {
        // Checks the command alone: other processes are reaped after its end.
        if process::has_ended(pid).map_err(LoadError::system("waiting for the command"))? {
            return Ok(why);
        }
        let next = [until, timed.next()].into_iter().flatten().min();
        let event = events.next(next).map_err(LoadError::system("waiting for the command"))?;
        timed.write_due()?;
        if event == Event::Time && until.is_none_or(|until| Instant::now() < until) {
            continue;
        }
        until = None;
        match event {
            Event::Child => {
                server::restart_loads(servers, order)?;
                until = deadline;
            }
            Event::Stop(signal) => {
                why = Why::Signal(signal);
                process::kill(-pid, signal);
                deadline = Some(Instant::now() + order.last_words);
                until = deadline;
            }
            Event::Time | Event::Gone => {
                why = match why {
                    Why::Itself if event == Event::Time => Why::Timeout,
                    Why::Itself => Why::Signal(libc::SIGTERM),
                    earlier => earlier,
                };
                process::kill(pid, libc::SIGKILL);
            }
        }
    }
}

/// Send the stop signal to servers, the last server first, and wait for their end during the grace period.
fn stop(servers: &[Running<'_>], order: &Order, events: &mut Events) {
    for server in servers.iter().rev() {
        process::kill(server.pid, server.server.stop);
        let deadline = Instant::now() + order.grace;
        while Instant::now() < deadline {
            match process::wait_no_hang(server.pid) {
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => break,
            }
            match events.next(Some(deadline)) {
                Ok(Event::Child | Event::Time) => {}
                Ok(Event::Stop(_) | Event::Gone) | Err(_) => return,
            }
        }
    }
}

fn describe(
    last: Done,
    why: Why,
    elapsed_ns: u64,
    runs: Vec<Run>,
    usage: Usage,
    strays_killed: u32,
) -> Report {
    Report {
        schema: SCHEMA,
        elapsed_ns,
        runs,
        usage,
        exit_code: if let How::Exited(code) = last.end.how { Some(code) } else { None },
        signal: if let How::Killed(signal) = last.end.how { Some(signal) } else { None },
        timed_out: why == Why::Timeout,
        interrupted_by: if let Why::Signal(signal) = why { Some(signal) } else { None },
        strays_killed,
        others_us: last.others_us,
        attributes: last.attributes,
        timed: Vec::new(),
        sched: last.sched,
    }
}
