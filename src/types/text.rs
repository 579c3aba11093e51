//! Byte strings as people and JSON see them: names, targets and values need not be UTF-8.
//!
//! Keeps CLI-4 (nothing is lost in JSON) and CLI-10 (nothing controls a terminal) for whoever shows bytes. What is
//! stored is never changed here.

use serde_json::{Map, Value};

/// Text without control characters; what is not UTF-8 appears as `\xNN`.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Puts a byte string into a JSON object: as text under `key`, and when it is not UTF-8 also exactly, in
/// hexadecimal, under `key` + `_bytes` (the text then has U+FFFD where bytes could not be shown).
pub fn put_bytes(object: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    object.insert(key.to_owned(), String::from_utf8_lossy(bytes).into());
    if std::str::from_utf8(bytes).is_err() {
        let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        object.insert(format!("{key}_bytes"), hexadecimal.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: CLI-4, CLI-10
    #[test]
    fn bytes_are_shown_without_control_and_kept_without_loss() {
        assert_eq!(printable(b"caf\xe9\n\x1b"), "caf\\xe9\\n\\u{1b}");
        let mut object = Map::new();
        put_bytes(&mut object, "name", b"caf\xe9");
        put_bytes(&mut object, "plain", "caf\u{e9}".as_bytes());
        let expected =
            serde_json::json!({ "name": "caf\u{fffd}", "name_bytes": "636166e9", "plain": "caf\u{e9}" });
        assert_eq!(Value::Object(object), expected);
    }
}
