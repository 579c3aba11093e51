//! The oracle held against itself: the model as an implementation passes, and with a bug it is caught.

mod bugs;
mod checking;
mod self_check;
mod simulated;
mod vectors;
