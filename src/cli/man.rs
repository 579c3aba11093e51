//! `agentfs man`: the manual pages, made from the same definitions as `--help`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::exit::Failure;
use super::output::Output;

/// Print the manual page, or write those of all commands into a directory
#[derive(Args)]
#[command(after_help = "Example: agentfs man | man -l -\n\nJSON: {page}; with --output, the list of files")]
pub(crate) struct Man {
    /// Write one page a command (agentfs.1, agentfs-mount.1 ...) into this directory, made when missing
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let Some(directory) = self.output else {
            let page = render(super::command(), "agentfs".into())?;
            if output.is_json() {
                return output.json(&json!({ "page": String::from_utf8_lossy(&page) }));
            }
            return output.bytes(&page);
        };
        std::fs::create_dir_all(&directory).map_err(|error| Failure::host("create", &directory, error))?;
        let mut command = super::command();
        command.build();
        let mut pages = Vec::new();
        collect(&command, "agentfs".into(), &mut pages);
        let mut written = Vec::new();
        for (name, command) in pages {
            let path = directory.join(format!("{name}.1"));
            let page = render(command, name)?;
            std::fs::write(&path, page).map_err(|error| Failure::host("write", &path, error))?;
            written.push(path);
        }
        if output.is_json() {
            let written: Vec<_> = written.iter().map(|path| path.to_string_lossy()).collect();
            return output.json(&json!(written));
        }
        written.iter().try_for_each(|path| output.line(path.display().to_string()))
    }
}

fn collect(command: &clap::Command, name: String, pages: &mut Vec<(String, clap::Command)>) {
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set())
    {
        collect(inner, format!("{name}-{}", inner.get_name()), pages);
    }
    pages.push((name, command.clone()));
}

fn render(command: clap::Command, name: String) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.name(name)).render(&mut page).map_err(|error| Failure::output(&error))?;
    Ok(page)
}
