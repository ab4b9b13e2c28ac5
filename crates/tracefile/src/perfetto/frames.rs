//! Android's frames: when the display's and the programs' were expected, and when they came
//! (`FrameTimelineEvent`), as slices of two tracks of each process.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::wire::{Fields, last, number, text};
use crate::slices::{Builder, NO_TEXT, Owner, Span};

const EXPECTED: &str = "Expected Timeline";
const ACTUAL: &str = "Actual Timeline";

// Names of the numbers, as Perfetto shows them.
const PRESENT: [&str; 6] = [
    "Unspecified Present",
    "On-time Present",
    "Late Present",
    "Early Present",
    "Dropped Frame",
    "Unknown Present",
];
const PREDICTION: [&str; 4] =
    ["Unspecified Prediction", "Valid Prediction", "Expired Prediction", "Unknown Prediction"];
const SEVERITY: [&str; 4] = ["Unknown", "None", "Partial", "Full"];
/// Bits of why a frame was late.
const REASONS: [(u64, &str); 15] = [
    (1 << 1, "SurfaceFlinger Scheduling"),
    (1 << 2, "Prediction Error"),
    (1 << 3, "Display HAL"),
    (1 << 4, "SurfaceFlinger CPU Deadline Missed"),
    (1 << 5, "SurfaceFlinger GPU Deadline Missed"),
    (1 << 6, "App Deadline Missed"),
    (1 << 12, "App Resynced Jitter"),
    (1 << 7, "Buffer Stuffing"),
    (1 << 8, "Unknown Jank"),
    (1 << 9, "SurfaceFlinger Stuffing"),
    (1 << 10, "Dropped Frame"),
    (1 << 11, "Non Animating"),
    (1 << 13, "Display not ON"),
    (1 << 14, "ModeChange in progress"),
    (1 << 15, "PowerModeChange in progress"),
];

/// Numbers of frames have nothing to do with those of a program's operations.
const FIRST: u64 = 1 << 63;

/// Where the fields of a frame's begin are.
struct Layout {
    track: &'static str,
    /// Of a program's frame: the display's that shows it, and the layer.
    surface: Option<(u32, u32)>,
    process: u32,
    /// Of those that came: the first of the fields that say how, and that of the severity.
    came: Option<(u32, u32)>,
}

fn layout(kind: u32) -> Option<Layout> {
    let (track, surface, process, came) = match kind {
        1 => (EXPECTED, None, 3, None),
        2 => (ACTUAL, None, 3, Some((4, 9))),
        3 => (EXPECTED, Some((3, 5)), 4, None),
        4 => (ACTUAL, Some((3, 5)), 4, Some((6, 12))),
        _ => return None,
    };
    Some(Layout { track, surface, process, came })
}

/// A frame that begins, or the end of one.
enum Told {
    Begin { track: &'static str, process: i64, name: String, detail: Span },
    End,
}

/// What is told of frames, in the order of the file.
#[derive(Default)]
pub(super) struct Frames {
    told: Vec<(i64, i64, Told)>,
}

impl Frames {
    /// A `FrameTimelineEvent`; false: a field is missing without which it cannot be drawn.
    pub(super) fn take(&mut self, event: &[u8], time: i64, details: &mut Vec<u8>) -> bool {
        let Some((kind, value)) = Fields::of(event).last() else { return false };
        let message = value.bytes();
        let Some(cookie) = number(message, 1).map(|cookie| cookie as i64) else { return false };
        if kind == 5 {
            self.told.push((time, cookie, Told::End));
            return true;
        }
        let Some(layout) = layout(kind) else { return false };
        let (Some(token), Some(process)) = (number(message, 2), number(message, layout.process))
        else {
            return false;
        };
        let at = details.len();
        let args = Json::Object(arguments(message, &layout, token as i64)).to_string();
        details.extend_from_slice(args.as_bytes());
        let detail = Span { at: at as u64, length: u32::try_from(args.len()).unwrap_or(0) };
        let process = i64::from(process as i32);
        let name = (token as i64).to_string();
        self.told.push((time, cookie, Told::Begin { track: layout.track, process, name, detail }));
        true
    }

    /// Gives the slices, each frame on a track beside those that it overlaps.
    pub(super) fn finish(mut self, builder: &mut Builder) {
        self.told.sort_by_key(|(time, ..)| *time);
        // The frame that a cookie names began last with it.
        let mut open: HashMap<i64, Owner> = HashMap::new();
        for (number, (time, cookie, told)) in self.told.into_iter().enumerate() {
            match told {
                Told::Begin { track, process, name, detail } => {
                    let (track, name) = (builder.text(track), builder.text(&name));
                    let owner = Owner::Operation(process, track, FIRST | number as u64);
                    open.insert(cookie, owner.clone());
                    builder.begin(owner, time, name, NO_TEXT, detail);
                }
                Told::End => {
                    if let Some(owner) = open.remove(&cookie) {
                        builder.end(owner, time, None, Span::default());
                    }
                }
            }
        }
    }
}

fn arguments(message: &[u8], layout: &Layout, token: i64) -> Map<String, Json> {
    let mut args = Map::new();
    let mut add = |name: &str, value: Json| drop(args.insert(name.into(), value));
    match layout.surface {
        None => add("display_frame_token", token.into()),
        Some((display, layer)) => {
            add("surface_frame_token", token.into());
            add("display_frame_token", number(message, display).map(|token| token as i64).into());
            add("layer_name", last(message, layer).map(text).into());
        }
    }
    if let Some((first, severity)) = layout.came {
        let of = |field| number(message, field).unwrap_or(0);
        let named = |names: &[&str], field| {
            let known = usize::try_from(of(field)).ok().and_then(|at| names.get(at).copied());
            Json::from(known.unwrap_or("Unknown"))
        };
        add("present_type", named(&PRESENT, first));
        add("on_time_finish", (of(first + 1) != 0).into());
        add("gpu_composition", (of(first + 2) != 0).into());
        add("jank_type", reasons(of(first + 3)).into());
        add("prediction_type", named(&PREDICTION, first + 4));
        add("jank_severity_type", named(&SEVERITY, severity));
    }
    args
}

/// Why a frame was late, as a text.
fn reasons(bits: u64) -> String {
    match bits {
        0 => "Unspecified".into(),
        1 => "None".into(),
        _ => {
            let set = REASONS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name);
            set.collect::<Vec<_>>().join(", ")
        }
    }
}
