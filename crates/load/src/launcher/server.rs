//! Servers: started before the command, which waits until they are ready, and stopped after the command.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::events::{Event, Events};
use super::order::{Order, Ready, Server};
use super::start::{NotStarted, Streams, start};
use super::wanted::Wanted;
use crate::error::LoadError;
use crate::sys::process::{self, How, Pid};
use crate::sys::signals;

/// A server that is ready.
#[derive(Debug)]
pub struct Running<'s> {
    /// Process of the server.
    pub pid: Pid,
    /// Description of the server.
    pub server: &'s Server,
    output: OwnedFd,
    mark: File,
}

/// Pause between two tests of readiness.
const PAUSE: Duration = Duration::from_millis(5);

/// Longest time for a single TCP connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(200);

/// Bytes at the end of a failed server's output that a message quotes.
const QUOTED: i64 = 2000;

/// Start a server.
fn start_up<'s>(server: &'s Server, order: &Order) -> Result<Running<'s>, LoadError> {
    let failed = |reason: String| server.error(&reason);
    server.ready.ensure_free().map_err(failed)?;
    // A load's launcher writes a byte to this file, which the load inherits.
    let mark = File::from(memfd_create(c"started", MFdFlags::empty()).map_err(io::Error::from)?);
    let output: OwnedFd = memfd_create(c"server-output", MFdFlags::MFD_CLOEXEC).map_err(io::Error::from)?;
    let plain = Wanted::default();
    let is_plain = order.plain_servers || server.ready == Ready::Load;
    let wanted = if is_plain { &plain } else { &order.wanted };
    let program = std::env::current_exe()?.display().to_string();
    let option = format!("--started={}", mark.as_raw_fd());
    let shell = ["sh".to_owned(), "-c".to_owned(), server.command.clone(), program, option];
    let started = start(&shell, wanted, Streams::Into(&output)).map_err(|error| match error {
        NotStarted::Attributes(text) | NotStarted::Exec(_, text) | NotStarted::System(text) => failed(text),
    })?;
    Ok(Running { pid: started.pid, server, output, mark })
}

/// Start a server and wait until the server is ready.
pub fn bring_up<'s>(
    server: &'s Server,
    order: &Order,
    events: &mut Events,
) -> Result<Running<'s>, LoadError> {
    let running = start_up(server, order)?;
    let (noun, failed) = (server.noun(), |reason: String| server.error(&reason));
    let deadline = Instant::now() + order.ready_timeout;
    loop {
        if running.mark.metadata()?.len() > 0 {
            return Ok(running);
        }
        if let Some(how) = process::wait_no_hang(running.pid)?.map(|ended| ended.how) {
            let how = describe(how);
            return Err(failed(format!(
                "ended before the {noun} was ready: {how}{}",
                tail(noun, &running.output)
            )));
        }
        if server.ready.is_met(deadline) {
            return Ok(running);
        }
        // The launcher of a load has limits for the load's servers.
        if Instant::now() >= deadline && server.ready != Ready::Load {
            let (ready, patience) = (&server.ready, order.ready_timeout);
            return Err(failed(format!(
                "not ready after {patience:?} ({ready:?}){}",
                tail(noun, &running.output)
            )));
        }
        match events.next(Some(Instant::now() + PAUSE))? {
            Event::Stop(signal) => return Err(LoadError::Interrupted(signal)),
            Event::Gone => return Err(LoadError::Interrupted(libc::SIGTERM)),
            Event::Child | Event::Time => {}
        }
    }
}

/// Start each load again that has ended with success. Return an error if a load has failed.
pub fn restart_loads(servers: &mut [Running<'_>], order: &Order) -> Result<(), LoadError> {
    for running in servers.iter_mut().filter(|running| running.server.ready == Ready::Load) {
        match process::wait_no_hang(running.pid).map(|ended| ended.map(|ended| ended.how)) {
            Ok(None) => {}
            Ok(Some(how)) if how != How::Exited(0) => return Err(running.failure(how)),
            // Reaped already: the load ended between two runs of the command.
            Ok(_) | Err(_) => *running = start_up(running.server, order)?,
        }
    }
    Ok(())
}

/// Return an error if a server has failed. Remove servers that have exited with status 0, as some servers do
/// after a session.
pub fn ensure_alive(servers: &mut Vec<Running<'_>>) -> Result<(), LoadError> {
    for at in (0..servers.len()).rev() {
        if servers[at].server.ready == Ready::Load {
            continue;
        }
        let Ok(Some(ended)) = process::wait_no_hang(servers[at].pid) else { continue };
        let server = servers.remove(at);
        if ended.how != How::Exited(0) {
            return Err(server.failure(ended.how));
        }
    }
    Ok(())
}

impl Running<'_> {
    fn failure(&self, how: How) -> LoadError {
        let (how, output) = (describe(how), tail(self.server.noun(), &self.output));
        self.server.error(&format!("ended during the command: {how}{output}"))
    }
}

impl Server {
    fn noun(&self) -> &'static str {
        if self.ready == Ready::Load { "load" } else { "server" }
    }

    fn error(&self, reason: &str) -> LoadError {
        // The options of a load's launcher say nothing to its user.
        let command = self.command.split_once(" -- ").map_or(&*self.command, |(_, command)| command);
        LoadError::Launch(format!("{} `{command}`: {reason}", self.noun()))
    }
}

fn describe(how: How) -> String {
    match how {
        How::Exited(code) => format!("exit status {code}"),
        How::Killed(signal) => format!("killed by {}", signals::name(signal)),
    }
}

/// Tail of a server's output, as a paragraph.
fn tail(noun: &str, output: &OwnedFd) -> String {
    let Ok(mut file) = output.try_clone().map(File::from) else { return String::new() };
    let mut text = Vec::new();
    let length = file.seek(SeekFrom::End(0)).unwrap_or(0) as i64;
    let _ = file.seek(SeekFrom::End(-length.min(QUOTED)));
    let _ = file.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    if text.is_empty() {
        format!(". The {noun} wrote nothing")
    } else {
        format!(". The {noun} wrote:\n{text}")
    }
}

impl Ready {
    /// Return an error if another process already listens at the server's address.
    fn ensure_free(&self) -> Result<(), String> {
        match self {
            Self::Tcp(port) => match TcpListener::bind((Ipv4Addr::LOCALHOST, *port)) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    Err(format!("TCP port {port} is already in use; stop its user or choose another port"))
                }
                Err(error) => Err(format!("TCP port {port} cannot be used: {error}")),
                Ok(_) => Ok(()),
            },
            Self::Unix(path) if UnixStream::connect(path).is_ok() => {
                Err(format!("socket {} is already in use; stop its user or choose another", path.display()))
            }
            Self::Unix(_) | Self::Exec(_) | Self::Load => Ok(()),
        }
    }

    /// Whether the server is ready now.
    fn is_met(&self, deadline: Instant) -> bool {
        match self {
            Self::Tcp(port) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok()
            }
            Self::Load => false,
            Self::Unix(path) => UnixStream::connect(path).is_ok(),
            Self::Exec(command) => {
                let mut test = std::process::Command::new("sh");
                let quiet = std::process::Stdio::null;
                test.args(["-c", command]).stdin(quiet()).stdout(quiet()).stderr(quiet());
                let Ok(mut test) = test.spawn() else { return false };
                while Instant::now() < deadline {
                    match test.try_wait() {
                        Ok(Some(status)) => return status.success(),
                        Ok(None) => std::thread::sleep(PAUSE),
                        Err(_) => return false,
                    }
                }
                let _ = test.kill().and_then(|()| test.wait());
                false
            }
        }
    }
}
