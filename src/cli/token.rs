//! `callwright token`: fetches an access token, for trying things by hand.

use callwright_domain::identity::Scope;
use secrecy::ExposeSecret;

use super::server::{ServerArgs, block_on};
use super::{Failure, print};

/// Fetch an access token and print it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// What the token is for, such as operator; may be repeated [default: all that the client may do]
    #[arg(long = "scope", value_delimiter = ',', help_heading = "Identity")]
    scopes: Vec<Scope>,
}

/// Prints a token.
///
/// # Errors
/// A [`Failure`] when the issuer does not answer or refuses.
pub fn run(args: Args) -> Result<(), Failure> {
    block_on(async {
        let names: Vec<_> = args.scopes.iter().map(|scope| scope.as_str()).collect();
        let scope = (!names.is_empty()).then(|| names.join(" "));
        let token = args
            .server
            .fetch_token(scope.as_deref())
            .await
            .map_err(|fault| Failure {
                code: fault.exit_code(),
                sentence: fault.to_string(),
            })?;
        print(token.expose_secret())
    })
}
