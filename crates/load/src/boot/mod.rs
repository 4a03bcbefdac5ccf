//! Boots of a machine into a kernel under test. The machine's default kernel does not change.
//!
//! ```text
//! request   the identity of a boot; a request for another boot is refused
//! load      a kernel into memory, with reasons for refusals
//! stop      an orderly end of the running system, then the restart
//! guard     first process of the new kernel's initial file system: returns to the default kernel if nobody confirms
//! ```

pub mod guard;
mod load;
mod request;
mod stop;

pub use load::load;
pub use request::BootId;
pub use stop::restart;
