//! The part of QEMU's plug-in interface that this plug-in uses (docs/devel/tcg-plugins.rst and
//! include/qemu/qemu-plugin.h of QEMU 7.2, version 1 of the interface).
//!
//! The functions are looked up in the running QEMU. A QEMU without one of them loads the plug-in and gets an error.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// `qemu_plugin_id_t`
pub(crate) type Id = u64;

/// `struct qemu_plugin_tb`: a block of instructions that QEMU translates.
#[repr(C)]
pub(crate) struct Block([u8; 0]);

/// `struct qemu_plugin_insn`
#[repr(C)]
pub(crate) struct Instruction([u8; 0]);

/// `struct qemu_plugin_hwaddr`: the physical address of an access, or null.
#[repr(C)]
pub(crate) struct Physical([u8; 0]);

/// `qemu_plugin_vcpu_tb_trans_cb_t`
pub(crate) type OnBlock = extern "C" fn(Id, *mut Block);

/// `qemu_plugin_vcpu_udata_cb_t`
pub(crate) type OnInstruction = extern "C" fn(c_uint, *mut c_void);

/// `qemu_plugin_vcpu_mem_cb_t`: CPU, access, virtual address.
pub(crate) type OnAccess = extern "C" fn(c_uint, u32, u64, *mut c_void);

/// `QEMU_PLUGIN_CB_NO_REGS`: the callback does not access the CPU's registers.
pub(crate) const NO_REGISTERS: c_int = 0;

/// `QEMU_PLUGIN_MEM_RW`: loads and stores.
pub(crate) const LOADS_AND_STORES: c_int = 3;

/// `QEMU_PLUGIN_INLINE_ADD_U64`
pub(crate) const ADD_U64: c_int = 0;

/// `qemu_info_t`, up to the last field in use.
#[repr(C)]
pub(crate) struct Info {
    pub(crate) target_name: *const c_char,
    pub(crate) minimum_version: c_int,
    pub(crate) version: c_int,
    pub(crate) system_emulation: bool,
}

macro_rules! api {
    ($($name:ident: $type:ty,)*) => {
        /// The functions of the interface, without their prefix `qemu_plugin_`.
        pub(crate) struct Api {
            $(pub(crate) $name: $type,)*
        }

        impl Api {
            /// Looks up the functions in this process.
            pub(crate) fn of_process() -> Result<Self, String> {
                Ok(Self { $($name: {
                    let address = address(concat!("qemu_plugin_", stringify!($name), "\0"))?;
                    // SAFETY: QEMU's header declares the function of this name with this type.
                    unsafe { std::mem::transmute::<*mut c_void, $type>(address) }
                },)* })
            }
        }
    };
}

api! {
    register_vcpu_tb_trans_cb: extern "C" fn(Id, OnBlock),
    tb_n_insns: extern "C" fn(*const Block) -> usize,
    tb_get_insn: extern "C" fn(*const Block, usize) -> *mut Instruction,
    insn_vaddr: extern "C" fn(*const Instruction) -> u64,
    insn_data: extern "C" fn(*const Instruction) -> *const u8,
    insn_size: extern "C" fn(*const Instruction) -> usize,
    register_vcpu_insn_exec_inline: extern "C" fn(*mut Instruction, c_int, *mut c_void, u64),
    register_vcpu_insn_exec_cb: extern "C" fn(*mut Instruction, OnInstruction, c_int, *mut c_void),
    register_vcpu_mem_cb: extern "C" fn(*mut Instruction, OnAccess, c_int, c_int, *mut c_void),
    mem_is_store: extern "C" fn(u32) -> bool,
    get_hwaddr: extern "C" fn(u32, u64) -> *mut Physical,
    hwaddr_is_io: extern "C" fn(*const Physical) -> bool,
    hwaddr_phys_addr: extern "C" fn(*const Physical) -> u64,
}

/// The address of a function of this process; the name ends with a zero byte.
fn address(name: &str) -> Result<*mut c_void, String> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).expect("the name ends with a zero byte");
    // SAFETY: the name is a C string.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        Err(format!("this QEMU has no function {}", name.to_string_lossy()))
    } else {
        Ok(address)
    }
}

#[cfg(test)]
#[path = "../tests/unit/api.rs"]
mod tests;
