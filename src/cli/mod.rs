//! The command line: one file a command.
//!
//! Keeps the CLI rules. Every command resolves its database ([`target`]), does its work through the library,
//! answers on standard output ([`output`]) and ends with a documented code ([`exit`]). Environment and flags are
//! read here, once, and go down as values. No file-system rule is decided here.

mod completions;
mod conform;
mod daemon;
mod database;
mod exit;
mod fs;
mod info;
mod init;
mod kv;
mod man;
mod mount;
mod mount_helper;
mod mount_settings;
mod oracle;
mod oracle_client;
mod output;
mod target;
mod time;
mod timeline;
mod tools;
mod unmount;
mod verify;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use exit::{EXIT_CODES, Exit, Failure};
use output::Output;

/// An agent's files, key-value state and tool-call log in one SQLite file.
///
/// Most commands name a database first: an id (`my-agent` is the file .agentfs/my-agent.db in the current directory)
/// or a path (anything with a '/' or ending in .db). When both .agentfs/x.db and a file x exist, `x` is
/// the id and `./x` the file. Every command works while the database is mounted.
#[derive(Parser)]
#[command(name = "agentfs", version, after_long_help = EXIT_CODES, max_term_width = 100)]
struct Cli {
    /// Answer with JSON (one value; with --follow, one a line)
    #[arg(long, global = true)]
    json: bool,
    /// What to log on standard error: a level, or levels by module as in agentfs::store=debug
    #[arg(long, global = true, value_name = "LEVELS", env = "AGENTFS_LOG", default_value = "off")]
    log_level: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(init::Init),
    Mount(mount::Mount),
    Unmount(unmount::Unmount),
    Fs(fs::Fs),
    Kv(kv::Kv),
    Tools(tools::Tools),
    Timeline(timeline::Timeline),
    Info(info::Info),
    Oracle(oracle::Oracle),
    Conform(conform::Conform),
    Verify(verify::Verify),
    Completions(completions::Completions),
    Man(man::Man),
    #[command(hide = true)]
    OracleClient(oracle_client::OracleClient),
    ExitCodes(ExitCodes),
}

/// Show what the exit codes mean
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
struct ExitCodes;

impl ExitCodes {
    fn run(self, output: &mut Output) -> Result<(), Failure> {
        if output.is_json() { output.json(&exit::meanings()) } else { output.line(EXIT_CODES) }
    }
}

/// The whole command line, for completions and manual pages.
fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with its arguments, the first being its name, and returns how it ended.
///
/// # Panics
/// Never; what goes wrong is one line on standard error and the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let ended = match mount_helper::recognise(&arguments, &command()) {
        Some(request) => mount_helper::run(request),
        None => parse(&arguments).and_then(dispatch),
    };
    let Err(failure) = ended else { return ExitCode::SUCCESS };
    if let Some(message) = failure.message {
        // A closed standard error leaves the exit code.
        let _ = writeln!(io::stderr(), "agentfs: {}", output::printable(message.as_bytes()));
    }
    ExitCode::from(failure.exit.code())
}

/// Logs on standard error, at levels as `--log-level` writes them.
fn log_to_stderr(levels: &str) -> Result<(), Failure> {
    let filter = tracing_subscriber::EnvFilter::try_new(levels)
        .map_err(|error| Failure::usage(format!("--log-level (AGENTFS_LOG) {levels:?}: {error}")))?;
    // A program that uses the library may have begun to log already.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .try_init();
    Ok(())
}

fn parse(arguments: &[OsString]) -> Result<Cli, Failure> {
    Cli::try_parse_from(arguments).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let mut output = Output::new(false);
            let shown = output.bytes(error.render().to_string().as_bytes()).and_then(|()| output.flush());
            shown.err().unwrap_or_else(Failure::quiet)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(io::stderr(), "{}", error.render());
            Failure { exit: Exit::Usage, message: None }
        }
        _ => Failure::usage(one_line(&error.render().to_string())),
    })
}

/// Clap's message without its "error:" and its usage, on one line.
fn one_line(message: &str) -> String {
    let paragraphs =
        message.split("\n\n").take_while(|paragraph| !paragraph.trim_start().starts_with("Usage:"));
    let lines = paragraphs
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty() && !paragraph.starts_with("For more information"));
    let words = lines.collect::<Vec<_>>().join("; ");
    format!("{}; see --help", words.strip_prefix("error: ").unwrap_or(&words))
}

fn dispatch(cli: Cli) -> Result<(), Failure> {
    log_to_stderr(&cli.log_level)?;
    let mut output = Output::new(cli.json);
    match cli.command {
        Command::Init(command) => command.run(&mut output),
        Command::Mount(command) => command.run(&cli.log_level, &mut output),
        Command::Unmount(command) => command.run(&mut output),
        Command::Fs(command) => command.run(&mut output),
        Command::Kv(command) => command.run(&mut output),
        Command::Tools(command) => command.run(&mut output),
        Command::Timeline(command) => command.run(&mut output),
        Command::Info(command) => command.run(&mut output),
        Command::Oracle(command) => command.run(&mut output),
        Command::Conform(command) => command.run(&mut output),
        Command::Verify(command) => command.run(&mut output),
        Command::Completions(command) => command.run(&mut output),
        Command::Man(command) => command.run(&mut output),
        Command::OracleClient(command) => command.run(),
        Command::ExitCodes(command) => command.run(&mut output),
    }?;
    output.flush()
}

#[cfg(test)]
mod tests {
    // spec: CLI-12
    #[test]
    fn the_description_of_the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
