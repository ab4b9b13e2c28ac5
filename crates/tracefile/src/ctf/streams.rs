//! From files to streams of packets in order of time, and what is missing between them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::classes::TraceClass;
use super::clock::TimeBase;
use super::index_file;
use super::packet::{self, Head};
use super::walk::State;
use crate::decode::MOST_UNIT_BYTES;
use crate::map::Mapped;
use crate::{Damage, Loss, LossKind, Stream};

/// A packet in a file.
pub(super) struct Packet {
    pub(super) file: usize,
    /// Bytes from the beginning of the file.
    pub(super) offset: u64,
    /// Bytes of it in the file.
    pub(super) bytes: u64,
    pub(super) content_bits: u64,
    /// The file ends within it: that has been reported.
    pub(super) cut: bool,
    pub(super) head: Head,
}

impl Packet {
    pub(super) fn cpu(&self) -> Option<u16> {
        self.head.cpu.and_then(|cpu| u16::try_from(cpu).ok()).filter(|&cpu| cpu != u16::MAX)
    }

    /// Its end as stamped; after a crash, tracers leave 0.
    pub(super) fn end(&self) -> Option<u64> {
        self.head.end.filter(|&end| end != 0 || self.head.begin == Some(0))
    }
}

/// What tells streams of one class apart. Files of a stream without an instance id have one name,
/// in every directory of a rotated session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Instance {
    Id(u64),
    File(String),
}

/// The packets of one stream, in order of time.
pub(super) struct PacketStream {
    pub(super) class: usize,
    pub(super) packets: Vec<Packet>,
    pub(super) description: Stream,
}

/// What the files hold.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) streams: Vec<PacketStream>,
    pub(super) damage: Vec<Damage>,
    pub(super) notes: Vec<String>,
    /// By file: packets are missing at its end.
    pub(super) cut: Vec<bool>,
}

/// The part of a trace that a stream may leave out at its begin without a word, as streams do not
/// begin at the same moment: one part in so many.
const LEFT_OUT: i64 = 1000;

impl Scan {
    /// The begin of a trace where a stream had packets that are not in it, as in a snapshot: each
    /// stream reaches back as far as its own buffer did.
    pub(super) fn not_covered(&self, bases: &[TimeBase]) -> Vec<Loss> {
        let first = |stream: &PacketStream| {
            let begin = stream.packets.first()?.head.begin?;
            Some(bases[stream.class].ns(begin))
        };
        let last = |stream: &PacketStream| {
            let end = stream.packets.len().checked_sub(1).and_then(|at| stream.end(at))?;
            Some(bases[stream.class].ns(end))
        };
        let Some(origin) = self.streams.iter().filter_map(first).min() else { return vec![] };
        let end = self.streams.iter().filter_map(last).max().unwrap_or(origin);
        let least = end.saturating_sub(origin) / LEFT_OUT;
        let missing = self.streams.iter().enumerate().filter_map(|(at, stream)| {
            let (number, _) = stream.packets.first()?.head.sequence?;
            let begin = first(stream).filter(|begin| begin.saturating_sub(origin) > least)?;
            let kind = LossKind::Packets;
            let loss = Loss { stream: at, kind, begin: None, end: Some(begin), count: None };
            (number > 0).then_some(loss)
        });
        missing.collect()
    }
}

/// Finds the packets of all files and sorts them into streams.
pub(super) fn scan(trace: &TraceClass, files: &[Mapped]) -> Scan {
    let mut scan = Scan::default();
    let mut streams: BTreeMap<(usize, Instance), Vec<Packet>> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        let (packets, is_cut) = packets(trace, at, file, &mut scan.damage);
        scan.cut.push(is_cut);
        if packets.iter().any(|packet| packet.head.other_uuid) {
            let name = name(file);
            scan.notes.push(format!("{name}: packets have another UUID than the metadata"));
        }
        for packet in packets {
            let instance = match packet.head.instance {
                Some(id) => Instance::Id(id),
                None => Instance::File(name(file)),
            };
            streams.entry((packet.head.stream, instance)).or_default().push(packet);
        }
    }
    for ((class, instance), mut packets) in streams {
        if packets.iter().all(|packet| packet.head.begin.is_some()) {
            packets.sort_by_key(|packet| packet.head.begin);
        }
        let description = describe(&instance, &packets, files);
        scan.streams.push(PacketStream { class, packets, description });
    }
    // By CPU, as people count them; the order of instance ids is by chance.
    scan.streams.sort_by_key(|stream| (stream.class, stream.description.cpu));
    scan
}

fn name(file: &Mapped) -> String {
    file.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn describe(instance: &Instance, packets: &[Packet], files: &[Mapped]) -> Stream {
    let mut used: Vec<usize> = Vec::new();
    for packet in packets {
        if !used.contains(&packet.file) {
            used.push(packet.file);
        }
    }
    let names: Vec<String> = used.iter().map(|&at| name(&files[at])).collect();
    let first = packets.first().and_then(Packet::cpu);
    let name = match (names.as_slice(), instance) {
        ([one], _) => one.clone(),
        (_, Instance::File(name)) => name.clone(),
        // Rotated files: NAME_CPU_0, NAME_CPU_1, ...
        (several, Instance::Id(_)) => {
            let stem = |name: &String| name.rsplit_once('_').map(|(stem, _)| stem.to_owned());
            let stems: Vec<_> = several.iter().map(stem).collect();
            match &stems[0] {
                Some(stem) if stems.iter().all(|other| other.as_ref() == Some(stem)) => {
                    stem.clone()
                }
                _ => several[0].clone(),
            }
        }
    };
    Stream {
        name,
        cpu: first.filter(|_| packets.iter().all(|packet| packet.cpu() == first)),
        files: used.iter().map(|&at| files[at].path().to_owned()).collect::<Vec<PathBuf>>(),
        bytes: packets.iter().map(|packet| packet.bytes).sum(),
    }
}

/// The packets of a file, and whether others follow that cannot be read. Behind a damaged head the
/// file's index shows where to go on.
fn packets(
    trace: &TraceClass,
    at: usize,
    file: &Mapped,
    damage: &mut Vec<Damage>,
) -> (Vec<Packet>, bool) {
    let mut packets = Vec::new();
    let mut is_cut = false;
    let mut offset = 0u64;
    let mut hints: Option<Vec<u64>> = None;
    let length = file.len() as u64;
    while offset < length {
        match read_packet(trace, at, file, offset, damage) {
            Ok((packet, bytes)) => {
                packets.extend(packet);
                offset += bytes;
            }
            Err(what) => {
                let hints = hints.get_or_insert_with(|| index_file::offsets(file.path()));
                let next = hints.iter().find(|&&hint| hint > offset && hint < length);
                let rest = match next {
                    Some(next) => format!("left out up to byte {next}, where the index goes on"),
                    None => format!("the rest of the file, {} bytes, is left out", length - offset),
                };
                let what = format!("{what}; {rest}");
                damage.push(Damage { file: file.path().to_owned(), offset, stream: None, what });
                is_cut |= next.is_none();
                offset = next.copied().unwrap_or(length);
            }
        }
    }
    (packets, is_cut)
}

/// The packet at an offset, unless it is to be left out, and its size in bytes.
fn read_packet(
    trace: &TraceClass,
    at: usize,
    file: &Mapped,
    offset: u64,
    damage: &mut Vec<Damage>,
) -> Result<(Option<Packet>, u64), String> {
    let rest = &file[offset as usize..];
    let mut state = State::new(trace.slots, rest.len().min(1 << 20));
    let head = packet::head(trace, rest, &mut state).map_err(|fault| fault.to_string())?;
    let there = rest.len() as u64;
    let total_bits = match (head.total_bits, head.content_bits) {
        (Some(total), _) => total,
        // A content without a size of its packet fills that.
        (None, Some(content)) => content.next_multiple_of(8),
        (None, None) => there * 8,
    };
    if total_bits % 8 != 0 || total_bits < head.events_at || total_bits == 0 {
        return Err(format!("a packet size of {total_bits} bits"));
    }
    let content_bits = head.content_bits.unwrap_or(total_bits);
    if content_bits > total_bits || content_bits < head.events_at {
        return Err(format!("a packet of {total_bits} bits whose content has {content_bits}"));
    }
    let bytes = (total_bits / 8).min(there);
    let mut report = |what: String| {
        damage.push(Damage { file: file.path().to_owned(), offset, stream: None, what });
    };
    let cut = total_bits / 8 > there;
    if cut {
        let missing = total_bits / 8 - there;
        report(format!(
            "the file ends {missing} bytes before the end of the packet that begins here"
        ));
    }
    if bytes > MOST_UNIT_BYTES {
        report(format!(
            "a packet of {bytes} bytes is left out: at most {MOST_UNIT_BYTES} are decoded"
        ));
        return Ok((None, bytes));
    }
    Ok((Some(Packet { file: at, offset, bytes, content_bits, cut, head }), bytes))
}

impl PacketStream {
    /// What is missing between the packets, by their counters, and behind them where the file of
    /// one is `cut`.
    pub(super) fn losses(
        &self,
        stream: usize,
        base: &TimeBase,
        cut: &[bool],
        notes: &mut Vec<String>,
    ) -> Vec<Loss> {
        let mut losses = Vec::new();
        let name = &self.description.name;
        let mut discarded: Option<u64> = None;
        let mut sequence: Option<u64> = None;
        for (at, packet) in self.packets.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| self.end(before));
            if let Some((now, bits)) = packet.head.discarded {
                let count = match discarded {
                    // Of a counter that full 64 bits cannot have wrapped, nothing is known.
                    Some(last) if now < last && bits >= 64 => {
                        notes.push(format!(
                            "{name}: the counter of discarded events goes back from {last} to {now}"
                        ));
                        0
                    }
                    Some(last) => difference(last, now, bits),
                    None => now,
                };
                if count > 0 {
                    losses.push(Loss {
                        stream,
                        kind: LossKind::Events,
                        begin: discarded.and(before).map(|end| base.ns(end)),
                        end: self.end(at).map(|end| base.ns(end)),
                        count: Some(count),
                    });
                }
                discarded = Some(now);
            }
            if let Some((now, bits)) = packet.head.sequence {
                match sequence.map(|last| difference(last, now, bits)) {
                    None | Some(1) => {}
                    Some(step) if step == 0 || sequence > Some(now) && bits >= 64 => {
                        notes.push(format!(
                            "{name}: packet number {now} comes after {}",
                            sequence.unwrap_or_default()
                        ));
                    }
                    Some(step) => losses.push(Loss {
                        stream,
                        kind: LossKind::Packets,
                        begin: before.map(|end| base.ns(end)),
                        end: packet.head.begin.map(|begin| base.ns(begin)),
                        count: Some(step - 1),
                    }),
                }
                sequence = Some(now);
            }
            let next = self.packets.get(at + 1);
            let is_last = next.is_none_or(|next| next.file != packet.file);
            if is_last && cut[packet.file] && !packet.cut {
                losses.push(Loss {
                    stream,
                    kind: LossKind::Packets,
                    begin: self.end(at).map(|end| base.ns(end)),
                    end: next.and_then(|next| next.head.begin).map(|begin| base.ns(begin)),
                    count: None,
                });
            }
        }
        losses
    }

    /// When a packet ends; of one without that stamp, when the next begins.
    pub(super) fn end(&self, at: usize) -> Option<u64> {
        let next = || self.packets.get(at + 1).and_then(|next| next.head.begin);
        self.packets[at].end().or_else(next)
    }
}

/// The way of a counter of so many bits from one value to another.
fn difference(from: u64, to: u64, bits: u8) -> u64 {
    let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    to.wrapping_sub(from) & mask
}
