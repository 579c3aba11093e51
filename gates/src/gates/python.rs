//! Python: a virtual environment on the mount, a package with dependencies installed into it and run.

use super::Gate;
use crate::place::Arena;
use crate::program::Program;
use crate::report::Report;
use anyhow::{Result, ensure};
use std::time::Duration;

pub const GATE: Gate = Gate {
    name: "python",
    about: "python: a virtual environment, pip install of a package with dependencies, and its use",
    tools: &["python3"],
    quick: false,
    limit: Duration::from_secs(15 * 60),
    run,
};

const PACKAGE: &str = "flask==3.0.3";

const USE: &str = "
import flask
app = flask.Flask('gate')
@app.route('/<name>')
def hello(name): return flask.render_template_string('hello {{ name }}', name=name)
answer = app.test_client().get('/gate')
print(answer.status_code, answer.get_data(as_text=True))
";

fn run(arena: &Arena, report: &mut Report) -> Result<()> {
    arena.on_each(report, |place, report| {
        let environment = place.directory.join("venv");
        let python = environment.join("bin/python");
        report.attempt("python3 -m venv", || {
            Program::new("python3").args(["-m", "venv"]).arg(&environment).succeed()?;
            Ok(())
        });
        report.attempt(format_args!("pip install {PACKAGE}"), || {
            let pip = Program::new(&python).args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                PACKAGE,
            ]);
            pip.timeout(Duration::from_secs(4 * 60)).succeed()?;
            Ok(())
        });
        report.attempt("pip check", || {
            Program::new(&python).args(["-m", "pip", "check", "--disable-pip-version-check"]).succeed()?;
            Ok(())
        });
        report.attempt("the package answers, and again from its compiled files", || {
            for _ in 0..2 {
                let answer = Program::new(&python).args(["-c", USE]).answer()?;
                ensure!(answer == "200 hello gate", "unexpected: {answer}");
            }
            Ok(())
        });
        report.attempt("every module can be compiled again", || {
            let words = ["-m", "compileall", "-q", "-f"];
            Program::new(&python).args(words).arg(environment.join("lib")).succeed()?;
            Ok(())
        });
        Ok(())
    })
}
