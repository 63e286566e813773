//! Streaming, over real TLS and gRPC, against the program itself.

mod clients;
mod crowds;
mod deadlines;
mod issuer;
mod main_job;
mod nodes;
mod readers;
mod recordings;
mod refusals;
mod requests;
mod shutdown;
mod tls;
mod tokens;
