//! Unit tests of `boot/request.rs`.

use super::*;

const HERE: &str = "d682d3ef-e2a8-4a76-9d35-188ac88b73cc";

#[test]
fn a_request_for_another_boot_is_refused() {
    let request: BootId = "eed65c7d-27d2-4f23-8689-7adb8a0eac97".parse().unwrap();
    let refusal = request.require(HERE).unwrap_err().to_string();
    assert!(refusal.contains("nothing was changed"), "{refusal}");
    let upper: BootId = HERE.to_uppercase().parse().unwrap();
    assert!(upper.require(HERE).is_ok());
}

#[test]
fn only_a_whole_identity_is_accepted() {
    for text in ["", "d682d3ef", "*", "d682d3ef-e2a8-4a76-9d35-188ac88b73cg", &format!("{HERE}0")] {
        assert!(text.parse::<BootId>().is_err(), "{text}");
    }
}
