//! The first bytes of a connection: HTTP/2 or nothing, within a deadline.
//!
//! The transport would wait for ever on a client that connects and says nothing, through a graceful shutdown even.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// What every HTTP/2 client says first (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads the preface and gives the connection back as if it had not been read.
///
/// # Errors
/// The connection's own, or `InvalidData` when the client speaks something else.
pub(super) async fn expect<Io: AsyncRead + Unpin>(mut io: Io) -> io::Result<Replayed<Io>> {
    let mut first = [0; PREFACE.len()];
    io.read_exact(&mut first).await?;
    if &first == PREFACE {
        Ok(Replayed { io, replayed: 0 })
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the client does not speak HTTP/2",
        ))
    }
}

/// A connection whose preface is read again.
pub(super) struct Replayed<Io> {
    io: Io,
    replayed: usize,
}

impl<Io: AsyncRead + Unpin> AsyncRead for Replayed<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(rest) = PREFACE.get(self.replayed..)
            && !rest.is_empty()
        {
            let count = rest.len().min(into.remaining());
            into.put_slice(rest.get(..count).unwrap_or_default());
            self.replayed += count;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.io).poll_read(task, into)
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Replayed<Io> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(task)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(task, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
