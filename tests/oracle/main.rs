//! Implementations that traces are run on: real directories by system calls, and other programs by the protocol.
//!
//! The tests of credentials need user 0; all others run as anybody whom the machine lets have a user namespace.

mod confinement;
mod credentials;
mod document;
mod example;
mod failures;
mod lifecycle;
mod observation;
mod operations;
mod serving;
mod trace;
