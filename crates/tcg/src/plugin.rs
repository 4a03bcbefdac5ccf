//! The plug-in's entry point and callbacks.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;

use schedlab_workload::mark;

use crate::api::{ADD_U64, Api, Block, Id, Info, Instruction, NO_REGISTERS};
use crate::counts::Counts;

/// Version of the interface that the plug-in uses. QEMU refuses plug-ins of versions that it does not support.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "QEMU looks up this name")]
pub static qemu_plugin_version: c_int = 1;

static PLUGIN: OnceLock<Plugin> = OnceLock::new();

struct Plugin {
    api: Api,
    counts: Counts,
    output: File,
}

/// QEMU calls this function after it has loaded the plug-in. A result other than 0 ends QEMU.
///
/// # Safety
///
/// `arguments` must point to `count` C strings, and `info` to QEMU's description of itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let (info, words) = unsafe {
        let words = (0..count.max(0) as usize).map(|number| CStr::from_ptr(*arguments.add(number)));
        (&*info, words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<String>>())
    };
    // SAFETY: QEMU's description has the target's name as a C string.
    let target = unsafe { CStr::from_ptr(info.target_name) };
    match Plugin::new(&target.to_string_lossy(), info.system_emulation, &words) {
        Ok(plugin) => {
            let register = plugin.api.register_vcpu_tb_trans_cb;
            if PLUGIN.set(plugin).is_err() {
                return complain("the plug-in is loaded twice");
            }
            register(id, translated);
            0
        }
        Err(reason) => complain(&reason),
    }
}

fn complain(reason: &str) -> c_int {
    // QEMU itself prints only the number that this function returns.
    let _ = writeln!(std::io::stderr(), "schedlab's plug-in: {reason}");
    -1
}

impl Plugin {
    fn new(target: &str, system: bool, words: &[String]) -> Result<Self, String> {
        if target != "x86_64" || !system {
            return Err(format!("counts a machine of x86_64, not {target}"));
        }
        let values: HashMap<&str, &str> = words.iter().filter_map(|word| word.split_once('=')).collect();
        let value =
            |key| values.get(key).copied().ok_or_else(|| format!("the argument {key}=FILE is missing"));
        let (symbols, output) = (value("symbols")?, value("output")?);
        let text = std::fs::read_to_string(symbols).map_err(|error| format!("{symbols}: {error}"))?;
        Ok(Self {
            api: Api::of_process()?,
            counts: Counts::new(&text).map_err(|error| format!("{symbols}: {error}"))?,
            output: File::create(output).map_err(|error| format!("{output}: {error}"))?,
        })
    }

    fn instrument(&self, instruction: *mut Instruction) {
        let api = &self.api;
        let counter = self.counts.of((api.insn_vaddr)(instruction)).as_ptr();
        (api.register_vcpu_insn_exec_inline)(instruction, ADD_U64, counter.cast(), 1);
        // SAFETY: QEMU returns the instruction's bytes and their number.
        let bytes =
            unsafe { std::slice::from_raw_parts((api.insn_data)(instruction), (api.insn_size)(instruction)) };
        let callback = match bytes {
            _ if bytes == mark::bytes(mark::BEGIN) => begin,
            _ if bytes == mark::bytes(mark::NEXT) => next,
            _ => return,
        };
        (api.register_vcpu_insn_exec_cb)(instruction, callback, NO_REGISTERS, std::ptr::null_mut());
    }

    /// Writes a line. An incomplete output is noticed by its reader.
    fn write(&self, line: &str) {
        let _ = (&self.output).write_all(format!("{line}\n").as_bytes());
    }
}

extern "C" fn translated(_id: Id, block: *mut Block) {
    let plugin = PLUGIN.get().expect("QEMU translates after qemu_plugin_install");
    for number in 0..(plugin.api.tb_n_insns)(block) {
        plugin.instrument((plugin.api.tb_get_insn)(block, number));
    }
}

extern "C" fn begin(_cpu: c_uint, _data: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.counts.take();
    }
}

extern "C" fn next(_cpu: c_uint, _data: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.write(&plugin.counts.take());
    }
}
