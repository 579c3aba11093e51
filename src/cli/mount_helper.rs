//! What mount(8) and mount.fuse3(8) call: `mount.agentfs SOURCE DIR -o OPTIONS`, or `agentfs SOURCE DIR -o OPTIONS`.
//!
//! So an fstab line needs no more than `ID-OR-PATH DIR fuse.agentfs OPTIONS`. Keeps CLI-14.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::exit::Failure;
use super::mount;
use super::mount_settings::MountSettings;
use super::output::Output;

/// The arguments of a mount helper, the program's name left out.
pub(crate) struct Request<'a>(&'a [OsString]);

/// Decides whether the program is called as a mount helper: by its name, or by two operands of which
/// the first is no command.
pub(crate) fn recognise<'a>(arguments: &'a [OsString], command: &clap::Command) -> Option<Request<'a>> {
    let (program, rest) = arguments.split_first()?;
    let name = Path::new(program).file_name().and_then(OsStr::to_str);
    if matches!(name, Some("mount.agentfs" | "mount.fuse.agentfs" | "mount.fuse3.agentfs")) {
        return Some(Request(rest));
    }
    let source = rest.first()?.to_str().unwrap_or("/");
    let is_command = source.starts_with('-') || source == "help" || command.find_subcommand(source).is_some();
    (!is_command && rest.iter().any(|argument| argument == "-o")).then_some(Request(rest))
}

/// Mounts as asked; returns when the mount is usable.
pub(crate) fn run(request: Request<'_>) -> Result<(), Failure> {
    let call = Call::parse(request.0)?;
    if call.fake {
        return Ok(());
    }
    let mut output = Output::new(false);
    let answer = mount::start(call.source, Path::new(call.directory), &call.settings)?;
    if call.verbose {
        answer.show(&mut output)?;
    }
    output.flush()
}

struct Call<'a> {
    source: &'a OsStr,
    directory: &'a OsStr,
    settings: MountSettings,
    fake: bool,
    verbose: bool,
}

impl<'a> Call<'a> {
    /// mount(8) passes `SOURCE DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]`.
    fn parse(arguments: &'a [OsString]) -> Result<Self, Failure> {
        const USAGE: &str = "called as a mount helper; usage: SOURCE DIR [-sfnv] [-o OPTIONS] [-t TYPE]";
        let (mut operands, mut options, mut flags) = (Vec::new(), Vec::new(), String::new());
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.to_str() {
                Some("-o") => options.push(rest.next().ok_or_else(|| Failure::usage(USAGE))?),
                // Namespace and type: mount(8) has entered the one, and chosen us by the other.
                Some("-N" | "-t") => {
                    rest.next().ok_or_else(|| Failure::usage(USAGE))?;
                }
                Some(text) if text.len() > 1 && text.starts_with('-') => flags.push_str(&text[1..]),
                _ => operands.push(argument.as_os_str()),
            }
        }
        if flags.contains(|flag| !"sfnv".contains(flag)) {
            return Err(Failure::usage(format!("unknown flag in -{flags}; {USAGE}")));
        }
        let [source, directory] = operands[..] else { return Err(Failure::usage(USAGE)) };
        let mut settings = MountSettings::default();
        for option in options {
            let option = option.to_str().ok_or_else(|| Failure::usage("mount options must be UTF-8"))?;
            settings.add(option, flags.contains('s'))?;
        }
        Ok(Self { source, directory, settings, fake: flags.contains('f'), verbose: flags.contains('v') })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    // spec: CLI-14
    #[test]
    fn a_mount_helper_is_known_by_its_name_or_its_shape() {
        let command = super::super::command();
        for (line, expected) in [
            ("/sbin/mount.agentfs a.db /mnt -o rw", true),
            ("/sbin/mount.fuse.agentfs a.db /mnt", true),
            ("agentfs /x/a.db /mnt -o rw,dev,suid", true),
            ("agentfs my-agent /mnt -o rw", true),
            ("agentfs mount my-agent /mnt -o rw", false),
            ("agentfs info my-agent", false),
            ("agentfs help mount -o", false),
            ("agentfs --json -o", false),
            ("agentfs", false),
        ] {
            assert_eq!(recognise(&words(line), &command).is_some(), expected, "{line}");
        }
    }

    // spec: CLI-14
    #[test]
    fn flags_may_come_together_and_anywhere() {
        let arguments = words("-nv a.db /mnt -s -o ro,sloppy-unknown -o uid=7 -t fuse.agentfs");
        let call = Call::parse(&arguments).unwrap();
        assert_eq!((call.source, call.directory), (OsStr::new("a.db"), OsStr::new("/mnt")));
        assert!(call.verbose && !call.fake && call.settings.read_only);
        assert_eq!(call.settings.uid, Some(7));
        for wrong in ["a.db", "a.db /mnt extra", "a.db /mnt -q", "a.db /mnt -o", "a.db /mnt -o unknown"] {
            assert!(Call::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
