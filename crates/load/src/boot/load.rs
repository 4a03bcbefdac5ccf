//! A kernel in memory, ready for kexec.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::error::LoadError;
use crate::sys::restart;

/// Longest command line of an x86 kernel in bytes (`COMMAND_LINE_SIZE` less the NUL, arch/x86/include/asm/setup.h).
const LONGEST: usize = 2047;

/// Put a kernel into memory. The running system continues, and a plain reboot forgets the kernel.
pub fn load(image: &Path, initrd: Option<&Path>, command_line: &str) -> Result<(), LoadError> {
    let text = terminated(command_line)?;
    let image_file = open(image)?;
    let initrd_file = initrd.map(open).transpose()?;
    restart::load(image_file.as_fd(), initrd_file.as_ref().map(AsFd::as_fd), &text)
        .map_err(|error| LoadError::Boot(format!("{} cannot be loaded: {}", image.display(), reason(&error))))
}

fn terminated(command_line: &str) -> Result<CString, LoadError> {
    if command_line.len() > LONGEST {
        let length = command_line.len();
        return Err(LoadError::Boot(format!(
            "the command line has {length} bytes, and a kernel reads {LONGEST}"
        )));
    }
    CString::new(command_line).map_err(|_| LoadError::Boot("the command line contains a NUL byte".to_owned()))
}

fn open(path: &Path) -> Result<File, LoadError> {
    File::open(path).map_err(LoadError::system(format!("opening {}", path.display())))
}

/// The meaning of an error of `kexec_file_load(2)`. Sources: kernel/kexec_file.c and kernel/kexec.c of 6.12.
fn reason(error: &io::Error) -> String {
    let text = match error.raw_os_error() {
        Some(libc::EPERM) => {
            "not permitted: loading a kernel needs root (CAP_SYS_BOOT), kernel.kexec_load_disabled = 0 and no lockdown; use the method boot-once"
        }
        Some(libc::ENOSYS) => {
            "the running kernel is built without CONFIG_KEXEC_FILE; use the method boot-once"
        }
        Some(libc::ENOEXEC) => "the file is not a kernel that this machine can start: name an x86 bzImage",
        Some(libc::EKEYREJECTED | libc::ENOKEY | libc::EBADMSG | libc::ENODATA | libc::ENOPKG) => {
            "the signature is missing or not trusted, and the running kernel demands a signature; sign the kernel, or switch Secure Boot off"
        }
        Some(libc::EBUSY) => "another process loads a kernel at this moment",
        Some(libc::EADDRNOTAVAIL | libc::ENOMEM) => "the machine has too little memory for this kernel",
        _ => return error.to_string(),
    };
    format!("{text} ({error})")
}

#[cfg(test)]
#[path = "../../tests/unit/boot/load.rs"]
mod tests;
