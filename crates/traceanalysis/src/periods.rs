//! The time from one instance of an actor to its next, where no other can have begun between them.

use crate::losses::Losses;

/// Where the instances of an actor follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// On this CPU alone, as those of a handler do.
    Cpu(u16),
    /// On whichever CPU, as those of a thread do.
    Anywhere,
}

/// When an instance began, and how many losses there had been where the next could have begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began {
    time: i64,
    losses: Option<u32>,
}

/// The losses of each CPU as time goes on; not those of which no time is known.
pub(crate) struct Interruptions {
    /// By CPU: whether events are missing now, and how many losses have begun.
    cpus: Vec<(bool, u32)>,
    /// CPUs of which events are missing now.
    missing: usize,
    losses: u32,
}

impl Interruptions {
    pub(crate) fn new(losses: &Losses) -> Self {
        let cpus: Vec<(bool, u32)> = losses.at_first.iter().map(|&missing| (missing, 0)).collect();
        let missing = cpus.iter().filter(|cpu| cpu.0).count();
        Self { cpus, missing, losses: 0 }
    }

    pub(crate) fn begin(&mut self, cpu: u16) {
        let place = &mut self.cpus[usize::from(cpu)];
        self.missing += usize::from(!place.0);
        *place = (true, place.1 + 1);
        self.losses += 1;
    }

    pub(crate) fn end(&mut self, cpu: u16) {
        let place = &mut self.cpus[usize::from(cpu)];
        self.missing -= usize::from(place.0);
        place.0 = false;
    }

    /// Whether events of any CPU are missing now.
    pub(crate) fn is_missing(&self) -> bool {
        self.missing > 0
    }

    /// An instance that begins now. `is_seen`: its begin is, not only that it was under way.
    #[inline]
    pub(crate) fn began(&self, place: Place, time: i64, is_seen: bool) -> Began {
        let (missing, losses) = match place {
            Place::Cpu(cpu) => self.cpus[usize::from(cpu)],
            Place::Anywhere => (self.missing > 0, self.losses),
        };
        Began { time, losses: (is_seen && !missing).then_some(losses) }
    }
}

impl Began {
    /// The time since the instance before; none where events are missing between them.
    #[inline]
    pub(crate) fn since(&self, before: &Began) -> Option<i64> {
        let is_next = self.losses.is_some() && self.losses == before.losses;
        is_next.then(|| self.time - before.time)
    }
}
