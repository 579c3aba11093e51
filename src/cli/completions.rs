//! `agentfs completions`: scripts that complete the command line in a shell.

use clap::Args;
use clap_complete::Shell;

use super::exit::Failure;
use super::output::Output;

/// Print a completion script for a shell
#[derive(Args)]
#[command(
    after_help = "Example: agentfs completions bash > /etc/bash_completion.d/agentfs\n\nJSON: {shell, script}"
)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "agentfs", &mut script);
        if output.is_json() {
            let script = String::from_utf8_lossy(&script).into_owned();
            return output.json(&serde_json::json!({ "shell": self.shell.to_string(), "script": script }));
        }
        output.bytes(&script)
    }
}
