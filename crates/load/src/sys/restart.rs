//! Loading a kernel for kexec, and restarting the machine.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::{check, last_error};

/// `KEXEC_FILE_UNLOAD` and `KEXEC_FILE_NO_INITRAMFS` of `include/uapi/linux/kexec.h`.
const UNLOAD: libc::c_ulong = 1;
const NO_INITRAMFS: libc::c_ulong = 4;

/// The number of the system call, which libc lacks for musl on aarch64. Source: `include/uapi/asm-generic/unistd.h`.
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: libc::c_long = 294;
#[cfg(not(target_arch = "aarch64"))]
const KEXEC_FILE_LOAD: libc::c_long = libc::SYS_kexec_file_load;

/// The kernel that runs after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Into {
    /// The kernel that [`load`] put into memory.
    Loaded,
    /// The kernel that the firmware and the boot loader choose.
    Default,
}

/// Put a kernel, its initial file system and its command line into memory (`kexec_file_load(2)`, Linux 3.17).
pub fn load(kernel: BorrowedFd<'_>, initrd: Option<BorrowedFd<'_>>, command_line: &CStr) -> io::Result<()> {
    let text = command_line.to_bytes_with_nul();
    let flags = if initrd.is_some() { 0 } else { NO_INITRAMFS };
    let initrd = initrd.map_or(-1, |file| file.as_raw_fd());
    // SAFETY: the text is valid for its length, which includes the terminating NUL as the call requires.
    check(unsafe {
        libc::syscall(KEXEC_FILE_LOAD, kernel.as_raw_fd(), initrd, text.len(), text.as_ptr(), flags)
    })?;
    Ok(())
}

/// Remove a kernel that was put into memory. Without such a kernel, the call is a no-op.
pub fn unload() -> io::Result<()> {
    // SAFETY: no pointers: the kernel ignores all other arguments of an unload.
    check(unsafe { libc::syscall(KEXEC_FILE_LOAD, -1, -1, 0, std::ptr::null::<libc::c_char>(), UNLOAD) })?;
    Ok(())
}

/// Write all dirty data to the disks.
pub fn sync() {
    // SAFETY: no pointers.
    unsafe { libc::sync() };
}

/// Restart the machine at once: processes are not stopped and data is not written (`reboot(2)`). Returns on failure only.
pub fn now(into: Into) -> io::Error {
    let how = match into {
        Into::Loaded => libc::LINUX_REBOOT_CMD_KEXEC,
        Into::Default => libc::LINUX_REBOOT_CMD_RESTART,
    };
    // SAFETY: no pointers.
    unsafe { libc::reboot(how) };
    last_error()
}
