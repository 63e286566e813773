//! `callwright token`: fetches an access token, for trying things by hand.

use secrecy::ExposeSecret;

use super::server::{ServerArgs, block_on};
use super::{Failure, print};

/// Fetch an access token and print it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
}

/// Prints a token.
///
/// # Errors
/// A [`Failure`] when the issuer does not answer or refuses.
pub fn run(args: Args) -> Result<(), Failure> {
    block_on(async {
        let token = args.server.fetch_token().await.map_err(|fault| Failure {
            code: fault.exit_code(),
            sentence: fault.to_string(),
        })?;
        print(token.expose_secret())
    })
}
