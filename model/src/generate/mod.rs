//! Random traces that hit what is there: drafts of calls, pointed at the model's live objects.
//!
//! A [`Draft`] is a few small numbers. Only when the trace is played, and the model's state is known, does
//! [`Draft::resolve`] make a call of it: an existing path, an open handle of the process, a name that is taken or free.
//! So most calls meet something, and a draft that is left out when a failure is shrunk does not make the others void:
//! they point at what is there then. Every number shrinks to 0, and 0 is always the simplest choice.
//!
//! What a driver can do, and so what is drawn, is its [`Alphabet`]. Nothing here judges an outcome.

mod alphabet;
mod attributes;
mod content;
mod draft;
mod names;
mod scene;
mod spelling;
mod strategy;

pub use alphabet::Alphabet;
pub use draft::{Draft, Kind};
pub use strategy::{Script, scripts};
