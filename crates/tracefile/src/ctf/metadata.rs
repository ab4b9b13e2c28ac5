//! The metadata file: packets of text, text, or JSON.

use crate::ByteOrder;
use crate::bytes::Reader;

const MAGIC: u32 = 0x75D1_1D57;
const HEADER: usize = 37;

/// A metadata text, and where in the file its parts stand.
pub(super) struct Text {
    pub(super) text: Vec<u8>,
    /// (offset in the text, offset in the file), ascending.
    parts: Vec<(usize, u64)>,
    pub(super) notes: Vec<String>,
}

pub(super) enum Language {
    Tsdl,
    Json,
}

impl Text {
    /// Takes the text out of its packets, when it is packetised. What is wrong with the packets may
    /// be a feature that is not known (encryption) or damage.
    pub(super) fn new(file: &[u8]) -> Result<Self, Problem> {
        let magic = file.first_chunk::<4>();
        let order = match magic {
            Some(magic) if u32::from_le_bytes(*magic) == MAGIC => ByteOrder::Little,
            Some(magic) if u32::from_be_bytes(*magic) == MAGIC => ByteOrder::Big,
            _ => {
                return Ok(Self { text: file.to_vec(), parts: vec![(0, 0)], notes: Vec::new() });
            }
        };
        let mut text = Self { text: Vec::new(), parts: Vec::new(), notes: Vec::new() };
        let mut at = 0;
        while at < file.len() {
            at = text.packet(file, at, order)?;
        }
        Ok(text)
    }

    /// Takes one packet; gives the offset behind it.
    fn packet(&mut self, file: &[u8], at: usize, order: ByteOrder) -> Result<usize, Problem> {
        let damaged = |what: &str| Problem::Damaged(at as u64, what.to_owned());
        let mut reader = Reader::new(file, order).at(at);
        let header = (|| {
            let magic = reader.u32()?;
            reader.take(16 + 4)?;
            let sizes = (reader.u32()?, reader.u32()?);
            let schemes = (reader.u8()?, reader.u8()?, reader.u8()?);
            let version = (reader.u8()?, reader.u8()?);
            Some((magic, sizes, schemes, version))
        })();
        let Some((magic, (content, packet), schemes, (major, _))) = header else {
            return Err(damaged("a metadata packet's header is cut short"));
        };
        match schemes {
            _ if magic != MAGIC => return Err(damaged("no metadata packet begins here")),
            (0, 0, _) => {}
            (_, 0, _) => return Err(Problem::Unsupported("compressed metadata".into())),
            _ => return Err(Problem::Unsupported("encrypted metadata".into())),
        }
        if major != 1 && major != 2 {
            return Err(Problem::Unsupported(format!("metadata of major version {major}")));
        }
        let (content, packet) = (content as usize / 8, packet as usize / 8);
        if content < HEADER || packet < content {
            return Err(damaged("a metadata packet's sizes do not fit each other"));
        }
        let end = (at + content).min(file.len());
        if at + content > file.len() {
            self.notes.push("the metadata file ends within its last packet".into());
        }
        self.parts.push((self.text.len(), (at + HEADER) as u64));
        self.text.extend_from_slice(&file[at + HEADER..end]);
        Ok(at + packet)
    }

    pub(super) fn language(&self) -> Language {
        if self.text.first() == Some(&0x1e) { Language::Json } else { Language::Tsdl }
    }

    /// Where in the file a place of the text stands.
    pub(super) fn in_file(&self, at: usize) -> u64 {
        let part = self.parts.iter().rev().find(|(begin, _)| *begin <= at);
        part.map_or(0, |(begin, offset)| offset + (at - begin) as u64)
    }
}

/// Why there is no text.
#[derive(Debug)]
pub(super) enum Problem {
    Damaged(u64, String),
    Unsupported(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(text: &str, padding: usize, order: ByteOrder) -> Vec<u8> {
        let word = |value: u32| match order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        let content = HEADER + text.len();
        let mut bytes = word(MAGIC).to_vec();
        bytes.extend([7; 16]);
        bytes.extend(word(0));
        bytes.extend(word(content as u32 * 8));
        bytes.extend(word((content + padding) as u32 * 8));
        bytes.extend([0, 0, 0, 1, 8]);
        bytes.extend(text.bytes());
        bytes.resize(bytes.len() + padding, 0);
        bytes
    }

    #[test]
    fn packets_of_either_byte_order_make_one_text() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let file = [packet("/* CTF", 9, order), packet(" 1.8 */", 0, order)].concat();
            let text = Text::new(&file).unwrap();
            assert_eq!(text.text, b"/* CTF 1.8 */");
            assert_eq!(text.in_file(7), (HEADER + 6 + 9 + HEADER + 1) as u64);
        }
    }

    #[test]
    fn what_is_damaged_or_not_known_is_said() {
        let mut encrypted = packet("x", 0, ByteOrder::Little);
        encrypted[33] = 1;
        assert!(matches!(Text::new(&encrypted), Err(Problem::Unsupported(_))));
        let cut = &packet("x", 0, ByteOrder::Little)[..20];
        assert!(matches!(Text::new(cut), Err(Problem::Damaged(0, _))));
        let mut small = packet("x", 0, ByteOrder::Little);
        small[24..28].copy_from_slice(&8u32.to_le_bytes());
        assert!(matches!(Text::new(&small), Err(Problem::Damaged(0, _))));
    }
}
