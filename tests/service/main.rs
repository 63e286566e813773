//! The service as a whole, against the real parts, and the house it stands in.
//!
//! `cfg(test)` always holds here; written out, it lets clippy know that helpers too may unwrap.

#[cfg(test)]
mod admin;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod house;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod operate;
#[cfg(test)]
mod starting;
#[cfg(test)]
mod store;
#[cfg(test)]
mod stream;
#[cfg(test)]
mod support;
