//! SHA-1 (FIPS 180-4), by which EVALSHA names scripts.

/// The digest of these bytes as 40 hexadecimal digits in lower case.
pub(super) fn hex_digest(bytes: &[u8]) -> String {
    sha1_smol::Sha1::from(bytes).digest().to_string()
}
