//! The service against the real parts: databases, TLS and HTTP on ports of its own.

#[cfg(test)]
mod identity;
#[cfg(test)]
mod store;
