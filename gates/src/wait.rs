//! Waiting for a condition, bounded.

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// Waits until `holds` answers true, at most `limit`.
pub fn wait_until(what: &str, limit: Duration, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let started = Instant::now();
    while !holds()? {
        if started.elapsed() > limit {
            bail!("waited {} s in vain until {what}", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
