//! Names of values, from the `print fmt` text of an event.

use crate::Label;

/// The names that the text gives to values of field `field`.
pub(crate) fn labels(_print: &str, _field: &str) -> Vec<Label> {
    Vec::new()
}
