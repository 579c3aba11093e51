//! What `agentfs conform` shows: a table by family of rules, and each divergence in words.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentfs_model::outcome::RuleId;
use serde_json::{Value, json};

use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::oracle::conform::{Tally, Vectors, tally_of};
use crate::oracle::file;
use crate::oracle::play::{Fault, Trace};
use crate::oracle::search::Findings;

/// What a run came to.
pub(super) struct Report {
    pub(super) name: String,
    pub(super) profile: String,
    pub(super) seed: u64,
    pub(super) vectors: Vectors,
    pub(super) random: Findings,
}

/// A kind of divergence: one mistake shows in many traces.
struct Kind<'a> {
    fault: &'a Fault,
    trace: &'a Trace,
    /// The vectors that show it; none for a random trace.
    vectors: Vec<&'static str>,
    times: u32,
}

impl Kind<'_> {
    fn title(&self) -> &str {
        self.vectors.first().copied().unwrap_or("random")
    }
}

impl Report {
    /// How many kinds of divergences there are.
    pub(super) fn divergences(&self) -> usize {
        self.kinds().len()
    }

    fn kinds(&self) -> Vec<Kind<'_>> {
        let mut kinds: Vec<Kind<'_>> = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for failed in &self.vectors.failed {
            let name = failed.fault.kind();
            if let Some(index) = known.get(&name) {
                kinds[*index].vectors.push(failed.vector);
                kinds[*index].times += 1;
                continue;
            }
            known.insert(name, kinds.len());
            kinds.push(Kind {
                fault: &failed.fault,
                trace: &failed.trace,
                vectors: vec![failed.vector],
                times: 1,
            });
        }
        let new = self.random.found.iter().filter(|found| !known.contains_key(&found.fault.kind()));
        kinds.extend(new.map(|found| Kind {
            fault: &found.fault,
            trace: &found.trace,
            vectors: Vec::new(),
            times: found.times,
        }));
        kinds
    }

    /// Writes the trace of each kind into the directory; their paths, in order.
    pub(super) fn save(&self, directory: &Path) -> Result<Vec<PathBuf>, Failure> {
        std::fs::create_dir_all(directory).map_err(|error| Failure::host("make", directory, error))?;
        let mut paths = Vec::new();
        for (number, kind) in self.kinds().iter().enumerate() {
            let path = directory.join(format!("{:03}-{}.jsonl", number + 1, kind.title()));
            let mut text = Vec::new();
            let composed = file::write(kind.trace, &mut text);
            let written = composed.and_then(|()| std::fs::write(&path, text));
            written.map_err(|error| Failure::host("write", &path, error))?;
            paths.push(path);
        }
        Ok(paths)
    }

    /// Shows everything; `traces` are the files of the divergences, where they were written.
    pub(super) fn show(&self, traces: &[PathBuf], output: &mut Output) -> Result<(), Failure> {
        if output.is_json() {
            return output.json(&self.to_json(traces));
        }
        output.table(&self.rows())?;
        for (number, kind) in self.kinds().iter().enumerate() {
            output.line("")?;
            self.show_kind(kind, traces.get(number), output)?;
        }
        if !self.vectors.skipped.is_empty() {
            output.line("\nWhat was not supported, by the number of vectors that need it:")?;
            output.table(&self.missing())?;
        }
        if self.vectors.not_run > 0 {
            let text = format!("\n{} vectors were not run: no answer came any more", self.vectors.not_run);
            output.line(text)?;
        }
        for why in &self.random.refused {
            output.line(format!("\nrandom traces that were refused: {why}"))?;
        }
        output.line(format!("\n{}: profile {}, seed {}", self.name, self.profile, self.seed))
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |name: &str, tally: Tally| {
            let numbers = [tally.passed, tally.diverged, tally.unsupported];
            std::iter::once(name.to_owned()).chain(numbers.map(|number| number.to_string())).collect()
        };
        let mut rows = vec![["RULES", "PASSED", "DIVERGED", "UNSUPPORTED"].map(String::from).to_vec()];
        rows.extend(self.vectors.families.iter().map(|(family, tally)| row(family, *tally)));
        rows.push(row("all vectors", self.vectors.total()));
        rows.push(row("random traces", tally_of(&self.random)));
        rows
    }

    /// What is missing, what most vectors need first.
    fn missing(&self) -> Vec<Vec<String>> {
        let mut needed: BTreeMap<&str, u32> = BTreeMap::new();
        for skipped in &self.vectors.skipped {
            *needed.entry(&skipped.why).or_default() += 1;
        }
        let mut needed: Vec<(&str, u32)> = needed.into_iter().collect();
        needed.sort_by_key(|(why, count)| (std::cmp::Reverse(*count), *why));
        needed.into_iter().map(|(why, count)| vec![format!("{count:5}"), why.to_owned()]).collect()
    }

    fn show_kind(
        &self,
        kind: &Kind<'_>,
        trace: Option<&PathBuf>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let text = format!("{}: {}", kind.title(), kind.fault);
        for line in text.lines() {
            output.line(output.name(line.as_bytes()))?;
        }
        match (&kind.vectors[..], kind.times) {
            ([_, rest @ ..], _) if !rest.is_empty() => {
                output.line(format!("    also in {}", rest.join(" ")))?
            }
            ([], times) if times > 1 => output.line(format!("    in {times} traces"))?,
            _ => {}
        }
        match trace {
            Some(path) => output.line(format!("    trace: {}", path.display())),
            // A vector can be looked up; what was drawn is shown.
            None if kind.vectors.is_empty() => kind.trace.steps.iter().try_for_each(|step| {
                let text = serde_json::to_string(&step.call).unwrap_or_default();
                output.line(format!("    {text}"))
            }),
            None => Ok(()),
        }
    }

    fn to_json(&self, traces: &[PathBuf]) -> Value {
        let divergences = self.kinds().into_iter().enumerate().map(|(number, kind)| {
            let rules: Vec<RuleId> = match kind.fault {
                Fault::Divergence(divergence) => divergence.rules(),
                _ => Vec::new(),
            };
            let detail = match kind.fault {
                Fault::Divergence(divergence) => json!(divergence),
                _ => Value::Null,
            };
            json!({
                "vectors": kind.vectors,
                "times": kind.times,
                "words": kind.fault.to_string(),
                "rules": rules,
                "divergence": detail,
                "trace": traces.get(number).map(|path| path.to_string_lossy()),
            })
        });
        let skipped = self
            .vectors
            .skipped
            .iter()
            .map(|skipped| json!({ "vector": skipped.vector, "why": skipped.why }));
        json!({
            "name": self.name,
            "profile": self.profile,
            "seed": self.seed,
            "families": self.vectors.families,
            "vectors": self.vectors.total(),
            "random": tally_of(&self.random),
            "random_steps": self.random.steps,
            "random_refused": self.random.refused,
            "not_run": self.vectors.not_run,
            "divergences": divergences.collect::<Vec<_>>(),
            "skipped": skipped.collect::<Vec<_>>(),
        })
    }
}
