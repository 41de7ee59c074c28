//! The codes of system failures. They are stored, and people filter and alert by them: they never change.

/// Every attempt failed.
pub(crate) const TERMINAL: &str = "system.terminal-failure";
/// It said that it can never succeed.
pub(crate) const PERMANENT: &str = "system.permanent-failure";
/// The process ended while it was running, again and again.
pub(crate) const PROCESS: &str = "system.process-death";
/// Another database, or whatever it was to be carried to, did not take it.
pub(crate) const REFUSED: &str = "system.delivery-refused";
/// The envelope does not decode.
pub(crate) const ENVELOPE: &str = "system.envelope-corruption";
/// The payload does not decode.
pub(crate) const PAYLOAD: &str = "system.payload-corruption";
/// The payload is of a type that the consumer's message is not.
pub(crate) const CONTENT_TYPE: &str = "system.unknown-content-type";
