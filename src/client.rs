//! The client side of the streaming interface: what `callwright stream` and `callwright loadtest` speak.
//!
//! It knows only the wire: the proto of the interface, TLS, and the token endpoint. Nothing of the server is
//! used here, so what the client can do any other program can do too. Printing and exit codes are the command
//! line's.

pub mod call;
pub mod fault;
pub mod load;
pub mod message;
pub mod pace;
pub mod start;
pub mod target;
#[cfg(test)]
pub(crate) mod testserver;
pub mod token;
pub mod wav;
