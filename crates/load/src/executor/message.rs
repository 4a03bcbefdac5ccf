//! Messages over channels. A receive returns a complete message, the end of the stream, or an error.

use std::io::{self, ErrorKind};
use std::os::fd::RawFd;

use schedlab_workload::program::Take;

use crate::sys::wait::Sets;
use crate::sys::{channel, retry};

/// Result of a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A message, with its length in bytes.
    Bytes(usize),
    /// The end of the stream, before any byte of a message.
    Closed,
}

/// Write all of `bytes`.
#[inline]
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        sent += retry(|| channel::write(fd, &bytes[sent..]))?;
    }
    Ok(())
}

/// Send one datagram. If the receiver is gone (ECONNREFUSED), the datagram is lost, as with a full buffer.
#[inline(never)]
pub fn send_datagram(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    match retry(|| channel::write(fd, bytes)) {
        Err(error) if error.kind() != ErrorKind::ConnectionRefused => Err(error),
        _ => Ok(()),
    }
}

/// Read until `buffer` is full.
#[inline]
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<Received> {
    fill(buffer, |rest| channel::read(fd, rest))
}

/// Call `take` until `buffer` is full. A signal or a short read can make several calls necessary.
#[inline]
fn fill(buffer: &mut [u8], mut take: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<Received> {
    let mut got = 0;
    while got < buffer.len() {
        match retry(|| take(&mut buffer[got..]))? {
            0 if got == 0 => return Ok(Received::Closed),
            0 => return Err(io::Error::new(ErrorKind::UnexpectedEof, "closed in the middle of a message")),
            count => got += count,
        }
    }
    Ok(Received::Bytes(got))
}

/// Receive from a stream by another method than reading until `buffer` is full.
#[inline(never)]
pub fn receive_by(fd: RawFd, buffer: &mut [u8], take: Take, sets: &mut Sets) -> io::Result<Received> {
    let flags = match take {
        Take::WaitAll => libc::MSG_WAITALL,
        Take::Discard => libc::MSG_WAITALL | libc::MSG_TRUNC,
        Take::Read | Take::Available => {
            let count = retry(|| channel::read(fd, buffer))?;
            return Ok(if count == 0 { Received::Closed } else { Received::Bytes(count) });
        }
        Take::Poll | Take::Epoll => {
            return fill(buffer, |rest| {
                loop {
                    match channel::receive(fd, rest, libc::MSG_DONTWAIT) {
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        received => return received,
                    }
                    if take == Take::Epoll {
                        sets.wait(fd)?;
                    } else {
                        channel::readable_within(fd, -1)?;
                    }
                }
            });
        }
    };
    fill(buffer, |rest| channel::receive(fd, rest, flags))
}

/// Receive one datagram. Call `senders_gone` each time the socket's timeout expires before a datagram arrives.
#[inline(never)]
pub fn receive_datagram(
    fd: RawFd,
    buffer: &mut [u8],
    senders_gone: impl Fn() -> bool,
) -> io::Result<Received> {
    loop {
        match retry(|| channel::read(fd, buffer)) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if senders_gone() {
                    return Ok(Received::Closed);
                }
            }
            received => return received.map(Received::Bytes),
        }
    }
}
