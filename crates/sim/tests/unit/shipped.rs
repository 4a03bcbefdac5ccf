use super::{Files, KERNELS, MACHINES};
use crate::kernel::{kernel, kernel_names};
use crate::machine::{machine, machine_names};

#[test]
fn every_shipped_model_is_valid_and_has_the_name_of_its_file() {
    for name in machine_names() {
        assert_eq!(machine(name).unwrap().name, name);
    }
    for name in kernel_names() {
        assert_eq!(kernel(name).unwrap().name, name);
    }
    assert!(machine("pdp-11").unwrap_err().to_string().contains("kunpeng920"));
    assert!(kernel("linux-1.0").unwrap_err().to_string().contains("linux-5.14"));
}

#[test]
fn every_file_of_models_is_shipped() {
    let shipped = |folder: &str, files: &Files| {
        let folder = format!("{}/models/{folder}", env!("CARGO_MANIFEST_DIR"));
        let mut on_disk: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut compiled_in: Vec<String> = files.names().map(|name| format!("{name}.toml")).collect();
        on_disk.sort();
        compiled_in.sort();
        assert_eq!(compiled_in, on_disk);
    };
    shipped("machines", &MACHINES);
    shipped("kernels", &KERNELS);
}
