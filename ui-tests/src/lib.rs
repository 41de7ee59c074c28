//! What compiles, what does not, and what it says: `ui/{message,consumer,failure,module,run}/{pass,fail}`, one sentence
//! each. The errors are part of the product: read a changed `.stderr` as a newcomer would, then accept it with
//! `TRYBUILD=overwrite cargo test -p fluens-ui-tests`.
