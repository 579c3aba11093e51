//! `agentfs oracle-client`: a process that makes system calls for a trace. Hidden, since only `agentfs` itself starts it.

use clap::Args;

use super::exit::{Exit, Failure};
use crate::oracle::host;

/// Make the system calls of one process of a trace, as standard input says
#[derive(Args)]
pub(crate) struct OracleClient;

impl OracleClient {
    pub(crate) fn run(self) -> Result<(), Failure> {
        host::run_client().map_err(|error| Failure::new(Exit::Refused, format!("oracle-client: {error}")))
    }
}
