//! Streaming, over real TLS and gRPC, against the program itself.

mod main_job;
mod refusals;
mod requests;
