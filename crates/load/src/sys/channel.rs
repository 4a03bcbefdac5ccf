//! Descriptors that carry messages. All descriptors are close-on-exec, so that an executed image cannot keep
//! a channel open.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, getsockname, listen, setsockopt,
    socket, socketpair, sockopt,
};

use super::last_error;

/// The two ends of a pipe: (read, write).
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?)
}

/// A pair of connected Unix stream sockets.
pub fn unix_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?)
}

/// The two ends of a TCP connection over 127.0.0.1, on a port of the kernel's choice. `buffer`: see [`set_buffers`]; the
/// accepting end inherits the listening socket's buffers.
pub fn tcp_pair(no_delay: bool, buffer: Option<u32>) -> io::Result<(OwnedFd, OwnedFd)> {
    let tcp = || socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
    let (listener, near) = (tcp()?, tcp()?);
    // The window that an end offers depends on its buffer at the time of the connection (tcp(7)).
    set_buffers(&listener, buffer)?;
    set_buffers(&near, buffer)?;
    bind(listener.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0))?;
    listen(&listener, Backlog::new(1)?)?;
    let listener = TcpListener::from(listener);
    let address = getsockname::<SockaddrIn>(listener.as_raw_fd())?;
    connect(near.as_raw_fd(), &address)?;
    let (near, (far, _)) = (TcpStream::from(near), listener.accept()?);
    near.set_nodelay(no_delay)?;
    far.set_nodelay(no_delay)?;
    Ok((near.into(), far.into()))
}

/// Two UDP sockets on 127.0.0.1, connected to each other. Receives give up after `patience`. `buffer`: see [`set_buffers`].
pub fn udp_pair(patience: Duration, buffer: Option<u32>) -> io::Result<(OwnedFd, OwnedFd)> {
    let near = std::net::UdpSocket::bind(("127.0.0.1", 0))?;
    let far = std::net::UdpSocket::bind(("127.0.0.1", 0))?;
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    near.set_read_timeout(Some(patience))?;
    far.set_read_timeout(Some(patience))?;
    set_buffers(&near, buffer)?;
    set_buffers(&far, buffer)?;
    Ok((near.into(), far.into()))
}

/// Set the bytes of a socket's send and receive buffer, if given. The kernel limits the number to `net.core.wmem_max` and
/// `net.core.rmem_max`, and doubles it (socket(7)).
fn set_buffers(socket: &impl AsFd, bytes: Option<u32>) -> io::Result<()> {
    if let Some(bytes) = bytes {
        setsockopt(socket, sockopt::SndBuf, &(bytes as usize))?;
        setsockopt(socket, sockopt::RcvBuf, &(bytes as usize))?;
    }
    Ok(())
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
