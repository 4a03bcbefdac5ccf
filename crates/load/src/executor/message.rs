//! Messages over channels: whole ones, or the end of the stream, or an error.

use std::io::{self, ErrorKind};
use std::os::fd::RawFd;

use schedlab_workload::program::Take;

use crate::sys::channel;

/// Result of a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A message, with its length in bytes.
    Bytes(usize),
    /// The end of the stream, before any byte of a message.
    Closed,
}

/// Writes all of `bytes`.
#[inline]
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        match channel::write(fd, &bytes[sent..]) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends one datagram. If the receiver is gone (ECONNREFUSED), the datagram is lost, as with a full buffer.
#[inline(never)]
pub fn send_datagram(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    loop {
        match channel::write(fd, bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(()),
            other => return other.map(drop),
        }
    }
}

/// Reads until `buffer` is full.
#[inline]
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<Received> {
    fill(buffer, |rest| channel::read(fd, rest))
}

/// Calls `take` until `buffer` is full. A signal or a short read can make several calls necessary.
#[inline]
fn fill(buffer: &mut [u8], take: impl Fn(&mut [u8]) -> io::Result<usize>) -> io::Result<Received> {
    let mut got = 0;
    while got < buffer.len() {
        match take(&mut buffer[got..]) {
            Ok(0) if got == 0 => return Ok(Received::Closed),
            Ok(0) => {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "closed in the middle of a message"));
            }
            Ok(count) => got += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Received::Bytes(got))
}

/// Receives from a stream in one of the other ways than reading until `buffer` is full.
#[inline(never)]
pub fn receive_by(fd: RawFd, buffer: &mut [u8], take: Take) -> io::Result<Received> {
    let flags = match take {
        Take::WaitAll => libc::MSG_WAITALL,
        Take::Discard => libc::MSG_WAITALL | libc::MSG_TRUNC,
        Take::Read | Take::Available => return once(fd, buffer),
    };
    fill(buffer, |rest| channel::receive(fd, rest, flags))
}

/// Performs one read of the available bytes.
fn once(fd: RawFd, buffer: &mut [u8]) -> io::Result<Received> {
    loop {
        match channel::read(fd, buffer) {
            Ok(0) => return Ok(Received::Closed),
            Ok(count) => return Ok(Received::Bytes(count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Receives one datagram. Calls `senders_gone` each time the socket's timeout expires without one.
#[inline(never)]
pub fn receive_datagram(
    fd: RawFd,
    buffer: &mut [u8],
    senders_gone: impl Fn() -> bool,
) -> io::Result<Received> {
    loop {
        match channel::read(fd, buffer) {
            Ok(count) => return Ok(Received::Bytes(count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock && senders_gone() => {
                return Ok(Received::Closed);
            }
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::ConnectionRefused
                ) => {}
            Err(error) => return Err(error),
        }
    }
}
