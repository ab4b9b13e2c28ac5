//! The packets of a file, those too that stand compressed within others.

use std::ops::Range;

use super::wire::{Fields, Value};
use crate::places::Home;

/// Bytes that compressed packets of a file may unpack to.
const MOST_UNPACKED: u64 = 4 << 30;

/// Where a packet is.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) home: Home,
    range: Range<usize>,
}

/// All packets in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Packets {
    pub(super) places: Vec<Packet>,
    pub(super) unpacked: Vec<u8>,
    /// Where the file could not be read, and why.
    pub(super) damage: Vec<(usize, String)>,
}

impl Packets {
    pub(super) fn of(file: &[u8]) -> Self {
        let mut packets = Self::default();
        let mut outer = Fields::of(file);
        while let Some((number, value)) = outer.next() {
            let (1, Value::Bytes(packet)) = (number, value) else { continue };
            packets.add(packet, outer.at - packet.len()..outer.at);
        }
        if outer.damaged {
            let at = outer.at.min(file.len());
            packets.damage.push((at, "the file ends within a packet".into()));
        }
        packets
    }

    fn add(&mut self, packet: &[u8], range: Range<usize>) {
        let mut fields = Fields::of(packet);
        let mut whole = true;
        for (number, value) in fields.by_ref() {
            if number == 50 {
                whole = false;
                self.unpack(value.bytes(), range.start);
            }
        }
        if fields.damaged {
            let what = "a packet that is no message: what follows in it is lost";
            self.damage.push((range.start, what.into()));
        }
        if whole {
            self.places.push(Packet { home: Home::File, range });
        }
    }

    /// `begin`: where the packet begins that holds them.
    fn unpack(&mut self, compressed: &[u8], begin: usize) {
        let from = self.unpacked.len();
        let most = MOST_UNPACKED - from as u64;
        let decoder = flate2::read::ZlibDecoder::new(compressed);
        let mut limited = std::io::Read::take(decoder, most);
        if let Err(error) = std::io::Read::read_to_end(&mut limited, &mut self.unpacked) {
            self.damage.push((begin, format!("compressed packets: {error}")));
        }
        let mut inner = Fields::of(&self.unpacked[from..]);
        while let Some((number, value)) = inner.next() {
            if let (1, Value::Bytes(packet)) = (number, value) {
                let end = from + inner.at;
                let range = end - packet.len()..end;
                self.places.push(Packet { home: Home::Unpacked, range });
            }
        }
    }

    /// What a packet stands in, and it.
    pub(super) fn bytes<'a>(&'a self, file: &'a [u8], packet: &Packet) -> (&'a [u8], &'a [u8]) {
        let from = if packet.home == Home::File { file } else { &self.unpacked };
        (from, &from[packet.range.clone()])
    }
}
