//! Builds ELF files by hand with rules of unwinding, after the LSB's "Exception Frames".

/// Where the code of a file that is made here lies, in it and in memory.
pub const CODE: u64 = 0x1000;
/// Bytes of each of its functions.
pub const FUNCTION: u64 = 0x40;

// Instructions of rules.
const DEF_CFA: u8 = 0x0c;
const DEF_CFA_EXPRESSION: u8 = 0x0f;
const UNDEFINED: u8 = 0x07;
const OFFSET: u8 = 0x80;

/// Instructions, at the end of a function's rules.
pub type Rules = Vec<u8>;

/// A function that has pushed `words` words, so that its return address lies behind them.
pub fn pushed(words: u8) -> Rules {
    vec![DEF_CFA, 7, 8 * (words + 1)]
}

/// The same told by an expression, as of the stubs of a linker: the stack pointer plus 8.
pub fn computed() -> Rules {
    vec![DEF_CFA_EXPRESSION, 2, 0x77, 8]
}

/// A function that nobody has called.
pub fn first() -> Rules {
    vec![UNDEFINED, 16]
}

/// An ELF file for x86-64 whose functions lie one behind the other from [`CODE`] on.
pub fn elf(functions: &[Rules], build_id: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    // Version 1, "zR", factors 1 and -8, return address in 16; addresses are absolute words of 8.
    let mut shared = vec![0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0];
    shared.extend([DEF_CFA, 7, 8, OFFSET | 16, 1]);
    entry(&mut frames, &shared);
    for (number, rules) in functions.iter().enumerate() {
        let back = (frames.len() + 4) as u32;
        let begin = CODE + FUNCTION * number as u64;
        let head = [&back.to_le_bytes()[..], &begin.to_le_bytes(), &FUNCTION.to_le_bytes(), &[0]];
        entry(&mut frames, &[&head.concat()[..], rules].concat());
    }
    frames.extend([0; 4]);
    let code = vec![0x90; functions.len() * FUNCTION as usize];
    let note = [&4u32.to_le_bytes()[..], &(build_id.len() as u32).to_le_bytes(), &[3, 0, 0, 0]];
    let note = [&note.concat()[..], b"GNU\0", build_id].concat();
    let names = b"\0.text\0.eh_frame\0.note.gnu.build-id\0.shstrtab\0";
    let parts: [&[u8]; 4] = [&code, &frames, &note, names];
    let mut file = vec![0; CODE as usize];
    let mut sections = vec![0; 64];
    for (number, part) in parts.into_iter().enumerate() {
        let (name, kind) = [(1u32, 1u32), (7, 1), (17, 7), (36, 3)][number];
        let (at, size) = (file.len() as u64, part.len() as u64);
        sections.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
        sections.extend([2, at, at, size, 0, 4, 0].map(u64::to_le_bytes).concat());
        file.extend(part);
        file.resize(file.len().next_multiple_of(8), 0);
    }
    let place = file.len() as u64;
    file.extend(sections);
    let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
    head.extend([0, 64, place].map(u64::to_le_bytes).concat());
    head.extend([0u8, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 5, 0, 4, 0]);
    // All of it is loaded, at the addresses that are its offsets.
    head.extend([1u32.to_le_bytes(), 5u32.to_le_bytes()].concat());
    head.extend([0, 0, 0, place, place, 0x1000].map(u64::to_le_bytes).concat());
    file[..head.len()].copy_from_slice(&head);
    file
}

fn entry(frames: &mut Vec<u8>, body: &[u8]) {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(8) + 4, 0);
    frames.extend((body.len() as u32).to_le_bytes());
    frames.extend(body);
}
