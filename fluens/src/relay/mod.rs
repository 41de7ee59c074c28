//! What leaves this database. To everybody who publishes, another database is one more consumer: what is for it waits in
//! the inbox like any other delivery. A relay takes it from there in batches, hands it to a [`Destination`], and acknowledges
//! here what was taken there. What arrives is published once more at the destination, for the consumers of that database
//! only; their dispatchers are next.

mod answers;
mod backoff;
mod database;
mod desk;
mod destination;
mod packing;
mod routes;
mod settling;
mod site;
mod worker;

pub use destination::{Ack, Answer, Carried, DeliveryError, Destination, Parcel};
pub(crate) use routes::{Publishes, Resident, Wants, crossings};
pub(crate) use site::{Outfit, Site};
