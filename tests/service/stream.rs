//! Streaming, over real TLS and gRPC, against the program itself.

mod crowds;
mod deadlines;
mod main_job;
mod readers;
mod recordings;
mod refusals;
mod requests;
mod tls;
