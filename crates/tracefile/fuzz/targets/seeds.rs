//! Writes the seeds of a target into a directory: `seeds TARGET DIRECTORY`.

#[path = "../../tests/fuzzing/mod.rs"]
mod fuzzing;
#[path = "../../tests/made/mod.rs"]
mod made;

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, target, directory] = words.as_slice() else {
        return Err(std::io::Error::other("seeds TARGET DIRECTORY"));
    };
    std::fs::create_dir_all(directory)?;
    for (number, seed) in (fuzzing::target(target).seeds)().iter().enumerate() {
        std::fs::write(format!("{directory}/seed-{number}"), seed)?;
    }
    Ok(())
}
