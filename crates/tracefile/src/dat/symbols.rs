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

    /// The symbol that begins at the address or, with `+0x..` behind it, last before it.
    pub(crate) fn name(&self, address: u64) -> Option<String> {
        let after = self.starts.partition_point(|&(start, _)| start <= address);
        let (start, _) = *self.starts.get(after.checked_sub(1)?)?;
        // Of several names for one address the first is the one that kernels print.
        let first = self.starts.partition_point(|&(other, _)| other < start);
        let rest = &self.text[self.starts[first].1 as usize..];
        let name = rest.split(['\n', '\t', ' ', '\0']).next()?;
        Some(match address - start {
            0 => name.to_owned(),
            distance => format!("{name}+0x{distance:x}"),
        })
    }
}
