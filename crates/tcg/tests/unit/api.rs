//! Unit tests of `api.rs`.

use super::*;

#[test]
fn a_process_without_the_interface_is_refused_with_the_missing_name() {
    let error = Api::of_process().err().unwrap();
    assert!(error.contains("qemu_plugin_register_vcpu_tb_trans_cb"), "{error}");
}
