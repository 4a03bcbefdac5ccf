//! Descriptors that carry messages. All descriptors are close-on-exec, so that an executed image cannot keep
//! a channel open.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

use super::last_error;

/// The two ends of a pipe: (read, write).
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?)
}

/// A pair of connected Unix stream sockets.
pub fn unix_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?)
}

/// The two ends of a TCP connection over 127.0.0.1, on a port of the kernel's choice.
pub fn tcp_pair(no_delay: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    let near = std::net::TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    near.set_nodelay(no_delay)?;
    far.set_nodelay(no_delay)?;
    Ok((near.into(), far.into()))
}

/// Two UDP sockets on 127.0.0.1, connected to each other. Receives give up after `patience`.
pub fn udp_pair(patience: Duration) -> io::Result<(OwnedFd, OwnedFd)> {
    let near = std::net::UdpSocket::bind(("127.0.0.1", 0))?;
    let far = std::net::UdpSocket::bind(("127.0.0.1", 0))?;
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    near.set_read_timeout(Some(patience))?;
    far.set_read_timeout(Some(patience))?;
    Ok((near.into(), far.into()))
}

/// One `write(2)`; a short write returns its count.
pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for reads of its length.
    let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    if written < 0 { Err(last_error()) } else { Ok(written as usize) }
}

/// One `read(2)`; 0 is the end of the stream.
pub fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for writes of its length.
    let got = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    if got < 0 { Err(last_error()) } else { Ok(got as usize) }
}

/// One `recv(2)` with flags; 0 is the end of the stream.
pub fn receive(fd: RawFd, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the buffer is valid for writes of its length.
    let got = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), flags) };
    if got < 0 { Err(last_error()) } else { Ok(got as usize) }
}

/// Wait at most `timeout_ms`, or without limit if the time is negative. Return whether `fd` is readable or hung up; a
/// signal ends the wait.
pub fn readable_within(fd: RawFd, timeout_ms: i32) -> io::Result<bool> {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    let ready = unsafe { libc::poll(&raw mut poll, 1, timeout_ms) };
    match ready {
        ..0 if last_error().kind() == io::ErrorKind::Interrupted => Ok(false),
        ..0 => Err(last_error()),
        ready => Ok(ready > 0),
    }
}
