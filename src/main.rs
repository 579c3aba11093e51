//! The `agentfs` program; everything is in the library's `cli`.

fn main() -> std::process::ExitCode {
    agentfs::cli::run(std::env::args_os())
}
