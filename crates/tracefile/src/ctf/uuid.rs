//! UUIDs as text.

/// The bytes of `1b671a64-40d5-491e-99b0-da01ff1f3341`.
pub(super) fn parse(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u32> =
        text.chars().filter(|&c| c != '-').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair.get(1).unwrap_or(&0)) as u8).collect();
    if digits.len() == 32 { bytes.try_into().ok() } else { None }
}

pub(super) fn text(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_and_back() {
        let text = "1b671a64-40d5-491e-99b0-da01ff1f3341";
        assert_eq!(super::text(&super::parse(text).unwrap()), text);
        assert_eq!(super::parse("1b671a64"), None);
        assert_eq!(super::parse("xb671a64-40d5-491e-99b0-da01ff1f3341"), None);
    }
}
