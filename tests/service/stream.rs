//! Streaming, over real TLS and gRPC, against the program itself.

mod deadlines;
mod main_job;
mod refusals;
mod requests;
mod tls;
