//! Names of kernel addresses, from the recorded kallsyms. Read when the first one is asked for:
//! there are hundreds of thousands, and most analyses need none.

/// Symbols by address.
pub(crate) struct Symbols {
    text: String,
    /// (address, where in the text the name begins), ascending.
    starts: Vec<(u64, u32)>,
}

impl Symbols {
    /// Reads lines `ADDRESS TYPE NAME [MODULE]`; others are passed over. A text without addresses
    /// (`kptr_restrict`) has no symbols.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text).into_owned();
        let mut starts = Vec::new();
        let mut begin = 0;
        for line in text.split_inclusive('\n') {
            let mut words = line.splitn(3, ' ');
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            if let (Some(address), Some(_kind), Some(name)) = (address, words.next(), words.next())
                && address != 0
                && let Ok(at) = u32::try_from(begin + line.len() - name.len())
            {
                starts.push((address, at));
            }
            begin += line.len();
        }
        starts.sort_by_key(|&(address, _)| address);
        Self { text, starts }
    }

    /// The symbol that begins at the address or last before it, and how far before.
    pub(crate) fn name(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.starts.partition_point(|&(start, _)| start <= address);
        let (start, _) = *self.starts.get(after.checked_sub(1)?)?;
        // Of several names for one address the first is the one that kernels print.
        let first = self.starts.partition_point(|&(other, _)| other < start);
        let rest = &self.text[self.starts[first].1 as usize..];
        let name = rest.split(['\n', '\t', ' ', '\0']).next()?;
        Some((name, address - start))
    }
}

/// The strings of `printk_formats` of tracefs by their addresses: `0xADDRESS : "TEXT"` a line, with
/// C's escapes in the text. Lines that are none are passed over.
pub(crate) fn printk_formats(text: &[u8]) -> Vec<(u64, String)> {
    let text = String::from_utf8_lossy(text);
    let line = |line: &str| {
        let (address, quoted) = line.split_once(':')?;
        let address = u64::from_str_radix(address.trim().strip_prefix("0x")?, 16).ok()?;
        let quoted = quoted.trim_end_matches('\0').trim().strip_prefix('"')?;
        Some((address, unescaped(quoted.strip_suffix('"').unwrap_or(quoted))))
    };
    text.lines().filter_map(line).collect()
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        plain.push(match c {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => break,
            },
            c => c,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_strings_have_their_escapes_back() {
        let text = b"0xffffffff81000010 : \"a=%d\\n\"\nnone\n0x10 : \"\\\"q\\\" \\\\ \\t: x\"\n\0";
        let expected = [(0xffff_ffff_8100_0010, "a=%d\n"), (16, "\"q\" \\ \t: x")];
        assert_eq!(printk_formats(text), expected.map(|(at, text)| (at, text.to_owned())));
    }
}
