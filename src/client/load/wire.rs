//! gRPC messages in and out of HTTP/2 data: five bytes of prefix, then the message.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use callwright_proto::{StreamInput, StreamOutput};
use prost::Message as _;

/// A flag for compression and the length, four bytes big-endian.
const PREFIX: usize = 5;
/// Longest message taken from a server: gRPC's usual limit.
const LONGEST: usize = 4 * 1024 * 1024;

/// A message as it goes over the wire.
pub(super) fn framed(message: &StreamInput) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX + length);
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    // Encoding into a buffer that grows cannot fail.
    let _ = message.encode(&mut bytes);
    bytes.freeze()
}

/// The server sent something that is no gRPC message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no gRPC message of this interface")]
pub(super) struct NotGrpc;

/// Puts messages together again.
#[derive(Debug, Default)]
pub(super) struct Unframer {
    held: BytesMut,
}

impl Unframer {
    pub(super) fn push(&mut self, data: &[u8]) {
        self.held.extend_from_slice(data);
    }

    /// The next whole message, or none until there is more data.
    pub(super) fn next(&mut self) -> Result<Option<StreamOutput>, NotGrpc> {
        let Some((&[compressed, a, b, c, d], _)) = self.held.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if compressed != 0 || length > LONGEST {
            return Err(NotGrpc);
        }
        if self.held.len() < PREFIX + length {
            return Ok(None);
        }
        self.held.advance(PREFIX);
        let message = self.held.split_to(length).freeze();
        StreamOutput::decode(message).map(Some).map_err(|_| NotGrpc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::message;

    #[test]
    fn messages_cut_anywhere_come_out_whole() {
        let wire: Vec<u8> = ["{}", "second", ""]
            .iter()
            .flat_map(|text| framed(&message::event(*text)).to_vec())
            .collect();
        for piece in 1..wire.len() {
            let mut unframer = Unframer::default();
            let mut seen = Vec::new();
            for data in wire.chunks(piece) {
                unframer.push(data);
                while let Some(output) = unframer.next().unwrap() {
                    seen.push(output.message.unwrap().content);
                }
            }
            assert_eq!(seen, ["{}", "second", ""], "pieces of {piece}");
        }
    }

    #[test]
    fn compressed_and_oversized_messages_are_not_taken() {
        for prefix in [[1, 0, 0, 0, 0], [0, 255, 255, 255, 255]] {
            let mut unframer = Unframer::default();
            unframer.push(&prefix);
            assert_eq!(unframer.next(), Err(NotGrpc));
        }
    }
}
