//! What a gate found: every check counted, every failure shown where it happens and again at the end.

use std::time::Instant;

/// The counts and failures of one gate.
pub struct Report {
    gate: &'static str,
    started: Instant,
    section: String,
    passed: usize,
    skipped: usize,
    failures: Vec<String>,
}

impl Report {
    pub fn new(gate: &'static str) -> Self {
        Self {
            gate,
            started: Instant::now(),
            section: String::new(),
            passed: 0,
            skipped: 0,
            failures: Vec::new(),
        }
    }

    /// Begins a part of the gate; later failures carry its name.
    pub fn section(&mut self, name: &str) {
        self.section = name.to_owned();
        println!("  [{}] {name}", self.gate);
    }

    /// A fact worth printing that decides nothing.
    pub fn note(&self, text: impl std::fmt::Display) {
        println!("    {text}");
    }

    /// A check that held.
    pub fn pass(&mut self, what: impl std::fmt::Display) {
        self.passed += 1;
        println!("    ok      {what}");
    }

    /// Checks that held, without a line for each.
    pub fn pass_many(&mut self, count: usize, what: impl std::fmt::Display) {
        self.passed += count;
        println!("    ok      {what}: {count}");
    }

    /// A check that did not hold.
    pub fn fail(&mut self, what: impl std::fmt::Display, why: impl std::fmt::Display) {
        println!("    FAILED  {what}: {why}");
        self.failures.push(format!("{}: {what}: {why}", self.section));
    }

    /// A check that cannot be made here, and why.
    pub fn skip(&mut self, what: impl std::fmt::Display, why: impl std::fmt::Display) {
        self.skipped += 1;
        println!("    skipped {what}: {why}");
    }

    /// A check that answers whether it held.
    pub fn check(&mut self, what: impl std::fmt::Display, holds: bool, why: impl FnOnce() -> String) {
        if holds { self.pass(what) } else { self.fail(what, why()) }
    }

    /// A check that fails with an error.
    pub fn attempt(&mut self, what: impl std::fmt::Display, check: impl FnOnce() -> anyhow::Result<()>) {
        let started = Instant::now();
        match check() {
            Ok(()) => self.pass(format_args!("{what} ({:.1} s)", started.elapsed().as_secs_f64())),
            Err(error) => self.fail(what, format_args!("{error:#}")),
        }
    }

    /// Prints the failures again and the counts; answers whether the gate holds.
    pub fn close(self) -> bool {
        let Self { gate, started, passed, skipped, failures, .. } = self;
        for failure in &failures {
            // The details stand where it happened.
            println!("  {gate}: FAILED {}", failure.lines().next().unwrap_or_default());
        }
        // A gate that checked nothing proves nothing.
        let holds = failures.is_empty() && passed > 0;
        let verdict = if holds { "holds" } else { "FAILS" };
        println!(
            "  gate {gate} {verdict}: {passed} passed, {} failed, {skipped} skipped in {:.1} s",
            failures.len(),
            started.elapsed().as_secs_f64()
        );
        holds
    }
}
