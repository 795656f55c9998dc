//! How a generated credential's random bytes become text (BP-PARAM-004). The bytes are handed in: the shell draws them
//! from the operating system, persists the text before anything uses it, and never draws twice for one generation.

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};

use super::secret::Secret;
use crate::contract::blueprint::parameter::{Encoding, Generator};

/// The text of a credential generated from `bytes`: lowercase hexadecimal digits, the standard alphabet with padding,
/// or the URL-safe alphabet without.
///
/// # Panics
/// When `bytes` are not exactly as many as the generator asks for: a weaker credential than was promised must never be
/// persisted.
pub fn encode(generator: Generator, bytes: &[u8]) -> Secret<String> {
    assert_eq!(
        bytes.len(),
        usize::from(generator.byte_length),
        "a generator is given exactly the random bytes that it asks for"
    );
    Secret::new(match generator.encoding {
        Encoding::Hex => HEXLOWER.encode(bytes),
        Encoding::Base64 => BASE64.encode(bytes),
        Encoding::Base64url => BASE64URL_NOPAD.encode(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(byte_length: u8, encoding: Encoding) -> Generator {
        Generator {
            byte_length,
            encoding,
        }
    }

    #[test]
    fn each_encoding_has_its_alphabet_and_padding() {
        let bytes = [0xfb, 0xff, 0xfe].repeat(6)[..16].to_vec();
        for (encoding, text) in [
            (Encoding::Hex, "fbfffefbfffefbfffefbfffefbfffefb"),
            (Encoding::Base64, "+//++//++//++//++//++w=="),
            (Encoding::Base64url, "-__--__--__--__--__--w"),
        ] {
            assert_eq!(encode(generator(16, encoding), &bytes).expose(), text);
        }
    }

    #[test]
    fn the_lengths_of_the_text_follow_the_byte_length() {
        for (byte_length, hex, base64, base64url) in [(16, 32, 24, 22), (64, 128, 88, 86)] {
            let bytes = vec![7; usize::from(byte_length)];
            let length = |encoding| {
                encode(generator(byte_length, encoding), &bytes)
                    .expose()
                    .len()
            };
            assert_eq!(length(Encoding::Hex), hex);
            assert_eq!(length(Encoding::Base64), base64);
            assert_eq!(length(Encoding::Base64url), base64url);
        }
    }

    #[test]
    #[should_panic(expected = "exactly the random bytes")]
    fn fewer_bytes_than_promised_are_never_encoded() {
        encode(generator(16, Encoding::Hex), &[1, 2, 3]);
    }
}
