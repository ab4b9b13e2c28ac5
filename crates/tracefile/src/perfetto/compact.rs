//! Switches and wakes that the file keeps in columns: they become the messages that they would be.

use std::collections::HashMap;

use super::ftrace::Told;
use super::kernel::{KernelEvents, SWITCH, SWITCH_OF_UNKNOWN, WAKING, WAKING_BY_UNKNOWN};
use super::wire::{Fields, numbers};
use crate::Result;
use crate::places::{Home, Place};

impl KernelEvents {
    /// Times stand there as differences, names as numbers.
    pub(super) fn expand(&mut self, cpu: u16, compact: &[u8], ahead: i64) -> Result<()> {
        let mut names: Vec<&[u8]> = Vec::new();
        let mut columns: HashMap<u32, Vec<u64>> = HashMap::new();
        for (field, value) in Fields::of(compact) {
            match field {
                5 => names.push(value.bytes()),
                _ => columns.entry(field).or_default().extend(numbers(value)),
            }
        }
        let column = |field| columns.get(&field).map_or(&[][..], Vec::as_slice);
        let name = |at: Option<&u64>| {
            at.and_then(|&at| usize::try_from(at).ok()).and_then(|at| names.get(at)).copied()
        };
        // Both kinds in one order of time: who runs is known from the switch before.
        let mut events: Vec<(i64, bool, usize)> = Vec::new();
        for (field, wakes) in [(7, true), (1, false)] {
            let mut time = ahead;
            for (at, &difference) in column(field).iter().enumerate() {
                time = time.wrapping_add(difference as i64);
                events.push((time, wakes, at));
            }
        }
        events.sort_by_key(|&(time, ..)| time);
        for (time, wakes, at) in events {
            let running = self.running.get(&cpu).cloned();
            let thread = running.as_ref().map(|(thread, _)| u64::from(*thread as u32));
            let mut message = Message::default();
            if wakes {
                message.text(1, name(column(11).get(at)));
                message.number(2, column(8).get(at));
                message.number(3, column(10).get(at));
                message.number(5, column(9).get(at));
                let number = if running.is_some() { WAKING } else { WAKING_BY_UNKNOWN };
                let flags = column(12).get(at).copied();
                self.compacted(cpu, time, (WAKING, number), (thread, flags), &message)?;
                continue;
            }
            if let Some((thread, name)) = &running {
                message.text(1, Some(name));
                message.number(2, Some(&u64::from(*thread as u32)));
            }
            let (next, name) = (column(3).get(at), name(column(6).get(at)));
            message.number(4, column(2).get(at));
            message.text(5, name);
            message.number(6, next);
            message.number(7, column(4).get(at));
            let number = if running.is_some() { SWITCH } else { SWITCH_OF_UNKNOWN };
            self.compacted(cpu, time, (SWITCH, number), (thread, None), &message)?;
            if let Some(&next) = next {
                self.running.insert(cpu, (next as i32, name.unwrap_or_default().to_vec()));
            }
        }
        Ok(())
    }

    /// An event that stood in columns, as the message `number`; it is one of the type `of`.
    fn compacted(
        &mut self,
        cpu: u16,
        time: i64,
        (number, of): (u32, u32),
        (thread, flags): (Option<u64>, Option<u64>),
        message: &Message,
    ) -> Result<()> {
        let mut event = Message::default();
        event.number(1, Some(&(time as u64)));
        event.number(2, thread.as_ref());
        event.number(5, flags.as_ref());
        event.text(number, Some(&message.0));
        let at = self.written.len();
        let Some(told) = Told::read(&event.0) else { return Ok(()) };
        let place = Place { time, at, length: event.0.len() as u32, event: 0, home: Home::Written };
        self.event(cpu, &Told { message: of, ..told }, place)?;
        self.written.extend_from_slice(&event.0);
        Ok(())
    }
}

/// A message that is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u32, value: Option<&u64>) {
        if let Some(&value) = value {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
    }

    fn text(&mut self, field: u32, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.varint(u64::from(field) << 3 | 2);
            self.varint(value.len() as u64);
            self.0.extend_from_slice(value);
        }
    }
}
