//! The encoding of packets into a file.

use std::io::{self, Write};

use prost::Message;

use crate::schema::{PACKET_TAG, Packet};

/// Virtual time in nanoseconds.
pub(crate) type Ns = u64;

/// Destination of packets.
pub(crate) struct Sink<W: Write> {
    out: W,
    bytes: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    /// A destination without packets.
    pub fn new(out: W) -> Self {
        Self { out, bytes: Vec::new(), error: None }
    }

    /// Return the first failed write, or none.
    pub fn finish(mut self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    /// Write a packet, unless a write has failed before.
    pub fn packet(&mut self, packet: &Packet) {
        if self.error.is_some() {
            return;
        }
        self.bytes.clear();
        self.bytes.push(PACKET_TAG);
        let encoded = packet.encode_length_delimited(&mut self.bytes);
        debug_assert!(encoded.is_ok(), "a vector has room for every packet");
        self.error = self.out.write_all(&self.bytes).err();
    }
}
