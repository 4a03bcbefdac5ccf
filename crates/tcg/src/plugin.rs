//! The plug-in's entry point and callbacks.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use schedlab_sim::machine::Machine;
use schedlab_workload::mark;

use crate::api::{ADD_U64, Api, Block, Id, Info, Instruction, LOADS_AND_STORES, NO_REGISTERS, OnInstruction};
use crate::cache::{Guest, Hierarchy, Source};
use crate::counts::{CALLS, Counters, Counts, Functions};
use crate::instruction::is_atomic;

/// Version of the interface that the plug-in uses. QEMU refuses plug-ins of versions that it does not support.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "QEMU looks up this name")]
pub static qemu_plugin_version: c_int = 1;

static PLUGIN: OnceLock<Plugin> = OnceLock::new();

struct Plugin {
    api: Api,
    functions: Functions,
    instructions: Counters,
    calls: Counters,
    output: File,
    /// Counts since the beginning of the window, up to the last mark.
    window: Mutex<Counts>,
    caches: Option<Caches>,
}

/// The machine model's caches, which are empty until the first mark.
struct Caches {
    active: AtomicBool,
    state: Mutex<(Hierarchy, Box<[[u64; Source::COUNT]]>)>,
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
    match Plugin::new(info, &words) {
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
    fn new(info: &Info, words: &[String]) -> Result<Self, String> {
        // SAFETY: QEMU's description has the target's name as a C string.
        let target = unsafe { CStr::from_ptr(info.target_name) }.to_string_lossy();
        if target != "x86_64" || !info.system_emulation {
            return Err(format!("counts a machine of x86_64, not {target}"));
        }
        let values: HashMap<&str, &str> = words.iter().filter_map(|word| word.split_once('=')).collect();
        let value =
            |key| values.get(key).copied().ok_or_else(|| format!("the argument {key}=FILE is missing"));
        let (symbols, output) = (value("symbols")?, value("output")?);
        let functions = Functions::new(&read(symbols)?).map_err(|error| format!("{symbols}: {error}"))?;
        let caches = match values.get("machine") {
            Some(machine) => Some(Caches::new(&read(machine)?, value("guest")?, functions.len())?),
            None => None,
        };
        Ok(Self {
            api: Api::of_process()?,
            instructions: Counters::new(functions.len()),
            calls: Counters::new(functions.len()),
            functions,
            output: File::create(output).map_err(|error| format!("{output}: {error}"))?,
            window: Mutex::default(),
            caches,
        })
    }

    fn instrument(&self, instruction: *mut Instruction) {
        let api = &self.api;
        let address = (api.insn_vaddr)(instruction);
        let number = self.functions.number(address);
        let count = |counters: &Counters| {
            let counter = counters.address(number).cast();
            (api.register_vcpu_insn_exec_inline)(instruction, ADD_U64, counter, 1);
        };
        count(&self.instructions);
        if self.functions.begins(address) {
            count(&self.calls);
        }
        // SAFETY: QEMU returns the instruction's bytes and their number.
        let bytes =
            unsafe { std::slice::from_raw_parts((api.insn_data)(instruction), (api.insn_size)(instruction)) };
        if self.caches.is_some() {
            // QEMU reports an atomic instruction as a load and a store. A CPU asks once, for the line to write.
            let callback = if is_atomic(bytes) { written } else { accessed };
            let data = std::ptr::without_provenance_mut(number);
            (api.register_vcpu_mem_cb)(instruction, callback, NO_REGISTERS, LOADS_AND_STORES, data);
        }
        let marks: [(u32, OnInstruction); 4] =
            [(mark::BEGIN, begin), (mark::NEXT, next), (mark::FROM, from), (mark::TO, to)];
        for (displacement, callback) in marks {
            if bytes == mark::bytes(displacement) {
                (api.register_vcpu_insn_exec_cb)(instruction, callback, NO_REGISTERS, std::ptr::null_mut());
            }
        }
    }

    /// Takes the counts since the last mark, which the window also counts.
    fn take(&self) -> Counts {
        let mut counts = Counts::default();
        self.instructions.take("", &mut counts);
        self.calls.take(CALLS, &mut counts);
        if let Some(caches) = &self.caches {
            caches.take(&mut counts);
        }
        self.window.lock().expect("callbacks do not panic").add_all(&counts);
        counts
    }

    /// Counts an access to memory; devices have no cache lines.
    fn access(&self, cpu: c_uint, access: u32, address: u64, number: usize, store: bool) {
        let Some(caches) = self.caches.as_ref().filter(|caches| caches.active.load(Ordering::Relaxed)) else {
            return;
        };
        let physical = (self.api.get_hwaddr)(access, address);
        if physical.is_null() || (self.api.hwaddr_is_io)(physical) {
            return;
        }
        let (hierarchy, counts) = &mut *caches.state.lock().expect("callbacks do not panic");
        let source = hierarchy.access(cpu as usize, (self.api.hwaddr_phys_addr)(physical), store);
        counts[number][source.index()] += 1;
    }

    /// Writes a line. An incomplete output is noticed by its reader.
    fn write(&self, line: &str) {
        let _ = (&self.output).write_all(format!("{line}\n").as_bytes());
    }
}

impl Caches {
    /// Empty caches of the machine in a TOML text, for a guest in six words ([`guest`]) and this number of functions.
    fn new(machine: &str, words: &str, functions: usize) -> Result<Self, String> {
        let machine = Machine::from_toml(machine).map_err(|error| error.to_string())?;
        let hierarchy = Hierarchy::new(&machine, guest(words)?)?;
        let counts = vec![[0; Source::COUNT]; functions].into_boxed_slice();
        Ok(Self { active: AtomicBool::new(false), state: Mutex::new((hierarchy, counts)) })
    }

    /// Moves the counts since the last call into `counts`. The caches fill from the first call on.
    fn take(&self, counts: &mut Counts) {
        self.active.store(true, Ordering::Relaxed);
        let (_, sources) = &mut *self.state.lock().expect("callbacks do not panic");
        for (number, by_source) in sources.iter_mut().enumerate() {
            for (name, count) in Source::NAMES.iter().zip(std::mem::take(by_source)) {
                counts.add(number, name, count);
            }
        }
    }
}

/// Reads `SOCKETSxCORESxTHREADSxNODESxBYTES`, with the bytes of a node, and an `x` at the end if addresses are doubled.
fn guest(words: &str) -> Result<Guest, String> {
    let doubled = words.ends_with('x');
    let numbers = words.trim_end_matches('x').split('x').map(str::parse::<u64>);
    match numbers.collect::<Result<Vec<u64>, _>>().as_deref() {
        Ok(&[sockets, cores, threads, nodes, node_bytes]) if !words.is_empty() => Ok(Guest {
            sockets: sockets as usize,
            cores: cores as usize,
            threads: threads as usize,
            nodes: nodes as usize,
            node_bytes,
            doubled,
        }),
        _ => Err(format!("guest={words} is not SOCKETSxCORESxTHREADSxNODESxBYTES")),
    }
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

extern "C" fn translated(_id: Id, block: *mut Block) {
    let plugin = PLUGIN.get().expect("QEMU translates after qemu_plugin_install");
    for number in 0..(plugin.api.tb_n_insns)(block) {
        plugin.instrument((plugin.api.tb_get_insn)(block, number));
    }
}

extern "C" fn accessed(cpu: c_uint, access: u32, address: u64, number: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.access(cpu, access, address, number.addr(), (plugin.api.mem_is_store)(access));
    }
}

extern "C" fn written(cpu: c_uint, access: u32, address: u64, number: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.access(cpu, access, address, number.addr(), true);
    }
}

extern "C" fn begin(_cpu: c_uint, _data: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.take();
    }
}

extern "C" fn next(_cpu: c_uint, _data: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.write(&plugin.take().text());
    }
}

extern "C" fn from(_cpu: c_uint, _data: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.take();
        *plugin.window.lock().expect("callbacks do not panic") = Counts::default();
    }
}

extern "C" fn to(_cpu: c_uint, _data: *mut c_void) {
    if let Some(plugin) = PLUGIN.get() {
        plugin.take();
        let window = plugin.window.lock().expect("callbacks do not panic").text();
        plugin.write(&format!("= {window}"));
    }
}

#[cfg(test)]
#[path = "../tests/unit/plugin.rs"]
mod tests;
