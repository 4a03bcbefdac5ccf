//! System V shared memory.

use std::io;

/// Mark a segment for removal (shmctl(2)).
pub fn remove(id: i32) -> io::Result<()> {
    // SAFETY: IPC_RMID ignores the pointer.
    let status = unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
