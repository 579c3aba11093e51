//! Makes what a search has found small: fewer drafts, then simpler choices, then fewer steps of the trace.
//!
//! A draft means something whatever else is there, so any of them can be left out, and every number of it can be 0, which
//! is the simplest choice. That needs far fewer plays than halving each number does, and a play may be slow. Keeps
//! ORA-26 (the shortest trace that was found).

use std::time::Instant;

use agentfs_model::generate::{Alphabet, Script};

use super::implementation::Implementation;
use super::play::{Fault, Look, Played, Trace, draw, replay};

/// A fault, and the trace that shows it with its last step.
pub(super) type Shown = (Fault, Trace);

/// What is needed to try whether something smaller shows the same.
pub(super) struct Shrinker<'a> {
    pub(super) alphabet: &'a Alphabet,
    pub(super) implementation: &'a mut dyn Implementation,
    pub(super) look: Look,
    /// What the fault must be of.
    pub(super) kind: String,
    /// When to end with what there is.
    pub(super) until: Instant,
}

/// Plays a script from its beginning.
pub(super) fn play(
    script: &Script,
    alphabet: &Alphabet,
    implementation: &mut dyn Implementation,
    look: Look,
) -> Played {
    let setting = alphabet.setting(script.root, "drawn at random");
    draw(&setting, &script.drafts, alphabet, implementation, look)
}

impl Shrinker<'_> {
    /// The smallest trace that shows a fault of the kind, of those that were tried.
    pub(super) fn shrink(mut self, script: Script, first: Shown) -> Shown {
        let (mut script, mut smallest) = self.cut(script, first);
        self.leave_out_drafts(&mut script, &mut smallest);
        self.simplify(&mut script, &mut smallest);
        // A simpler draft may make another one needless.
        self.leave_out_drafts(&mut script, &mut smallest);
        self.leave_out_steps(smallest)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn shows(&mut self, script: &Script) -> Option<Shown> {
        let played = play(script, self.alphabet, self.implementation, self.look);
        let fault = played.ended.err().filter(|fault| fault.kind() == self.kind)?;
        Some((fault, played.trace))
    }

    /// Nothing that comes after the fault matters.
    fn cut(&mut self, mut script: Script, first: Shown) -> (Script, Shown) {
        let whole = script.clone();
        script.drafts.truncate(first.1.steps.len());
        match self.shows(&script) {
            Some(shown) => (script, shown),
            // Drafts were passed over, so that there are fewer steps than drafts.
            None => (whole, first),
        }
    }

    /// Leaves out as many drafts as can be, large pieces first, from the end.
    fn leave_out_drafts(&mut self, script: &mut Script, smallest: &mut Shown) {
        let mut size = script.drafts.len() / 2;
        while size > 0 {
            let mut start = script.drafts.len();
            while start > 0 && !self.is_over() {
                start = start.saturating_sub(size);
                let mut shorter = script.clone();
                let end = (start + size).min(shorter.drafts.len());
                shorter.drafts.drain(start..end);
                if let Some(shown) = self.shows(&shorter) {
                    (*script, *smallest) = (shorter, shown);
                }
            }
            size /= 2;
        }
    }

    /// Makes every choice the first one where that does no harm, else an earlier one.
    fn simplify(&mut self, script: &mut Script, smallest: &mut Shown) {
        self.attempt(script, smallest, |script| script.root = 0);
        for at in 0..script.drafts.len() {
            self.attempt(script, smallest, |script| script.drafts[at].by = 0);
            for pick in 0..script.drafts[at].picks.len() {
                for simpler in 0..3 {
                    if script.drafts[at].picks[pick] <= simpler || self.is_over() {
                        break;
                    }
                    if self.attempt(script, smallest, |script| script.drafts[at].picks[pick] = simpler) {
                        break;
                    }
                }
            }
        }
    }

    fn attempt(
        &mut self,
        script: &mut Script,
        smallest: &mut Shown,
        change: impl FnOnce(&mut Script),
    ) -> bool {
        let mut changed = script.clone();
        change(&mut changed);
        if changed == *script || self.is_over() {
            return false;
        }
        let shown = self.shows(&changed).filter(|(_, trace)| trace.steps.len() <= smallest.1.steps.len());
        let Some(shown) = shown else { return false };
        (*script, *smallest) = (changed, shown);
        true
    }

    /// Leaves out every step without which the rest still shows the fault, until none is left.
    fn leave_out_steps(&mut self, found: Shown) -> Shown {
        let mut smallest = found;
        let mut at = smallest.1.steps.len();
        while at > 0 && !self.is_over() {
            at -= 1;
            let mut shorter = smallest.1.clone();
            shorter.steps.remove(at);
            if let Some(shown) = self.shows_again(&shorter) {
                smallest = shown;
                // What was needed for the step that is gone may not be needed any more.
                at = smallest.1.steps.len();
            }
        }
        smallest
    }

    /// The trace shows the fault. Not always, where two steps that are quick enough have the same time.
    fn shows_again(&mut self, trace: &Trace) -> Option<Shown> {
        let own_clock = trace.steps.iter().any(|step| step.between.is_some());
        let attempts = if own_clock { 3 } else { 1 };
        (0..attempts).find_map(|_| {
            let played = replay(trace, self.implementation, self.look);
            let fault = played.ended.err().filter(|fault| fault.kind() == self.kind)?;
            Some((fault, played.trace))
        })
    }
}
