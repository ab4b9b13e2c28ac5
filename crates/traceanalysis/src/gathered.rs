//! What a pass gathers: a row for every span, or sums of them only.

use crate::bindings::Counts;
use crate::growing::{Begin, Fragment, Fragments, Instances, Totals, Waits};
use crate::usage::Usage;

/// The tables that grow, or the sums in their place: one a pass.
#[expect(clippy::large_enum_variant, reason = "there is one, and every event asks it")]
pub(crate) enum Gathered {
    Tables { instances: Instances, fragments: Fragments, waits: Waits },
    Usage(Usage),
}

impl Gathered {
    /// Tables with room for all that events of these numbers make.
    pub(crate) fn tables(counts: &Counts) -> Self {
        let &Counts { switches, wakes, handlers } = counts;
        Self::Tables {
            instances: Instances::with_capacity(switches + handlers),
            fragments: Fragments::with_capacity(switches + handlers),
            waits: Waits::with_capacity(switches + wakes),
        }
    }

    /// A new instance; its number.
    #[inline]
    pub(crate) fn begin(&mut self, begin: &Begin) -> u32 {
        match self {
            Self::Tables { instances, .. } => instances.begin(begin),
            Self::Usage(usage) => usage.begin(begin),
        }
    }

    /// An instance is over.
    #[inline]
    pub(crate) fn end(&mut self, instance: u32, totals: &Totals) {
        match self {
            Self::Tables { instances, .. } => instances.end(instance, totals),
            Self::Usage(usage) => usage.end(instance, totals.flags),
        }
    }

    /// A span on a CPU is over.
    #[inline]
    pub(crate) fn fragment(&mut self, fragment: &Fragment) {
        match self {
            Self::Tables { fragments, .. } => fragments.push(fragment),
            Self::Usage(usage) => usage.fragment(fragment),
        }
    }

    /// A span off a CPU is over.
    #[inline]
    pub(crate) fn wait(&mut self, actor: u32, span: (i64, i64), state: u8, cpu: u16, flags: u8) {
        if let Self::Tables { waits, .. } = self {
            waits.push(actor, span, state, cpu, flags);
        }
    }

    /// All instances and waits of some actors are incomplete.
    pub(crate) fn mark(&mut self, is_partial: &[bool]) {
        match self {
            Self::Tables { instances, waits, .. } => {
                waits.mark(is_partial);
                instances.mark(is_partial);
            }
            Self::Usage(usage) => usage.mark(is_partial),
        }
    }
}
