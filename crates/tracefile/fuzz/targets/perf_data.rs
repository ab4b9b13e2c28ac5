#![no_main]

#[path = "../../tests/fuzzing/mod.rs"]
mod fuzzing;
#[path = "../../tests/made/mod.rs"]
mod made;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (fuzzing::target("perf_data").run)(data);
});
