//! `schedload`: the native load generator of schedlab.

fn main() -> std::process::ExitCode {
    schedlab_load::commands::main()
}
