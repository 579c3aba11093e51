//! `agentfs oracle`: each line again, with what is allowed.

use super::{Source, malformed};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::oracle::check::{Checker, Moment, Rejection};
use crate::oracle::file;

pub(super) fn run(output: &mut Output) -> Result<(), Failure> {
    let Source { name, input } = Source::stdin();
    let mut lines = file::lines(input);
    let Some(first) = lines.next() else { return Err(malformed(&name, file::TraceError::Empty)) };
    let (number, text) = first.map_err(|error| malformed(&name, error))?;
    let setting = file::setting(&text).map_err(|why| malformed(&name, at(number, why)))?;
    output.json(&setting)?;
    output.flush()?;
    let mut checker = Checker::new(&setting, Moment::Unknown);
    for line in lines {
        let (number, text) = line.map_err(|error| malformed(&name, error))?;
        let mut step = file::step(&text).map_err(|why| malformed(&name, at(number, why)))?;
        let moment = Moment::of(&step);
        let inadmissible = |why| malformed(&name, at(number, why));
        let followed = match &step.outcome {
            None => {
                step.allowed = Some(checker.assume(&step.call, moment).map_err(inadmissible)?);
                Ok(())
            }
            Some(outcome) => {
                step.allowed = Some(checker.allowed(&step.call, moment).map_err(inadmissible)?);
                match checker.check(&step.call, moment, outcome) {
                    Ok(_) => Ok(()),
                    Err(Rejection::Inadmissible(why)) => Err(inadmissible(why)),
                    Err(Rejection::Divergence(divergence)) => {
                        Err(Failure::new(Exit::Unsound, format!("{name}: {}", at(number, divergence))))
                    }
                }
            }
        };
        output.json(&step)?;
        output.flush()?;
        followed?;
    }
    Ok(())
}

fn at(line: usize, why: impl std::fmt::Display) -> String {
    format!("line {line}: {why}")
}
