//! Unit tests of `boot/load.rs`.

use super::*;

#[test]
fn a_command_line_that_a_kernel_would_cut_is_refused() {
    assert!(terminated(&"x".repeat(LONGEST)).is_ok());
    let refusal = terminated(&"x".repeat(LONGEST + 1)).unwrap_err().to_string();
    assert!(refusal.contains("2048 bytes"), "{refusal}");
    assert!(terminated("quiet\0init=/bin/sh").is_err());
}

#[test]
fn the_terminating_byte_is_part_of_the_loaded_line() {
    assert_eq!(terminated("quiet").unwrap().as_bytes_with_nul(), b"quiet\0");
}

#[test]
fn refusals_name_a_way_out() {
    let explained = |number| reason(&io::Error::from_raw_os_error(number));
    assert!(explained(libc::EPERM).contains("kexec_load_disabled"));
    assert!(explained(libc::ENOSYS).contains("boot-once"));
    assert!(explained(libc::EKEYREJECTED).contains("Secure Boot"));
    assert!(explained(libc::ENOEXEC).contains("bzImage"));
    assert_eq!(explained(libc::EIO), io::Error::from_raw_os_error(libc::EIO).to_string());
}

#[test]
fn a_missing_image_is_named() {
    let error = load(Path::new("/nonexistent/bzImage"), None, "quiet").unwrap_err().to_string();
    assert!(error.contains("/nonexistent/bzImage"), "{error}");
}
