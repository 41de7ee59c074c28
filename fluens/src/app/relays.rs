//! Modules on several databases: which messages go where is subscribed at start, and for each pair of databases a relay
//! carries them.

use std::{collections::BTreeSet, sync::Arc};

use fluens_diesel::Route;

use super::{part::Opened, running::Running};
use crate::{
    Error,
    clock::Clock,
    consumer::ConsumerDescriptor,
    inbox::Signal,
    message::MessageDescriptor,
    module::{Contract, Main, Module},
    relay::{Destination, Outfit, Publishes, Resident, Site, Wants, crossings},
    settle::Policy,
};

/// Puts something around every destination.
pub(super) type Around = Arc<dyn Fn(Arc<dyn Destination>) -> Arc<dyn Destination> + Send + Sync>;

/// A database of the app.
struct Place {
    site: Arc<dyn Site>,
    modules: Vec<&'static str>,
}

/// From one database to another, subscribed.
pub(super) struct Line {
    from: Arc<dyn Site>,
    /// What it is to the database it reads from.
    consumer: i32,
    to: Arc<dyn Destination>,
}

/// Subscribes all that crosses, so that what is published from now on waits to be carried.
pub(super) async fn subscribe(contracts: &[Contract], opened: &Opened) -> Result<Vec<Line>, Error> {
    let (mut places, mut residents) = (Vec::<Place>::new(), Vec::new());
    for contract in contracts {
        let Some(site) = opened.sites.get(contract.module) else { continue };
        // By what the database calls itself: two urls may lead to one.
        let known = places.iter().position(|place| place.site.identity() == site.identity());
        let database = known.unwrap_or_else(|| {
            places.push(Place { site: site.clone(), modules: Vec::new() });
            places.len() - 1
        });
        places[database].modules.push(contract.module);
        residents.push(resident(contract, database));
    }
    let mut lines = Vec::new();
    for ((from, to), messages) in crossings(&residents) {
        let (from, to) = (&places[from], &places[to]);
        let destination = to.modules.join(", ");
        let messages = messages.into_iter().collect();
        // No consumer has an `@` in its name.
        let name = format!("relay@{}", to.site.identity());
        let route = Route { name, destination: destination.clone(), messages };
        let consumer = from.site.register(&route).await?;
        let to = to.site.destination(destination);
        lines.push(Line { from: from.site.clone(), consumer, to });
    }
    Ok(lines)
}

/// Starts what carries.
pub(super) fn start(lines: Vec<Line>, around: &[Around], running: &mut Running) {
    for line in lines {
        let settings = &running.settings;
        let outfit = Outfit {
            to: around.iter().fold(line.to, |to, around| around(to)),
            signal: Signal::new(&running.activity, Clock::of(&settings.clock)),
            stop: running.stop.subscribe(),
            // What was refused waits where it is seen, not in memory.
            policy: Policy { memory: Vec::new(), ..settings.policy("", None) },
            bytes: settings.memory,
            fairness: settings.fairness,
            node: running.node.clone(),
        };
        let relay = line.from.relay(line.consumer, outfit);
        running.tasks.spawn(relay);
    }
}

/// A module as the routes see it.
fn resident(contract: &Contract, database: usize) -> Resident {
    let own = ConsumerDescriptor::all().into_iter().filter(|consumer| consumer.module == contract.module);
    let wants = |consumer: &ConsumerDescriptor| Wants {
        names: std::iter::once(consumer.message).chain(consumer.message_aliases.iter().copied()).collect(),
        faults: consumer.is_fault,
        subscriptions: consumer.subscriptions(),
    };
    let publishes = if contract.module == Main::NAME {
        Publishes::Everything
    } else {
        Publishes::These(contract.publishes.iter().flat_map(|published| names_of(published.name)).collect())
    };
    Resident { database, publishes, consumers: own.map(wants).collect() }
}

/// A message's name and its aliases.
fn names_of(name: &'static str) -> BTreeSet<&'static str> {
    let known = MessageDescriptor::all().into_iter().filter(|message| message.name == name);
    let aliases = known.flat_map(|message| message.aliases.iter().copied());
    std::iter::once(name).chain(aliases).collect()
}
