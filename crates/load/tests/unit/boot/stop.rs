//! Unit tests of `boot/stop.rs`.

use super::*;

#[test]
fn a_restart_for_another_boot_changes_nothing() {
    let other: BootId = "00000000-0000-0000-0000-000000000000".parse().unwrap();
    let refusal = other.require_current().unwrap_err().to_string();
    assert!(refusal.contains("nothing was changed"), "{refusal}");
}

#[test]
fn systemd_starts_the_loaded_kernel_only_when_asked() {
    assert_eq!(systemd_arguments(Into::Loaded), ["--no-block", "kexec"]);
    assert_eq!(systemd_arguments(Into::Default), ["--no-block", "reboot"]);
}
