//! What can be found wrong without a database: names, wiring, states.

use std::collections::BTreeMap;

use super::Fault;
use crate::{
    consumer::{ConsumerDescriptor, States},
    message::{MessageDescriptor, is_plain},
    module::Contract,
};

/// What the linker cannot see under every profile, and what it cannot see at all.
pub(super) fn faults(modules: &[Contract], others_run_elsewhere: bool, states: &States) -> Vec<Fault> {
    let mut faults = Vec::new();
    messages(&MessageDescriptor::all(), &mut faults);
    let consumers = ConsumerDescriptor::all();
    consumer_names(&consumers, &mut faults);
    for module in modules {
        plain("module", module.module, "the `module!` declaration", &mut faults);
        if modules.iter().filter(|other| other.module == module.module).count() > 1 {
            let help = "give one of them another `name: \"..\"`";
            faults.push(Fault::new(format!("two modules are called `{}`", module.module), help));
        }
    }
    for module in modules {
        for message in module.consumes {
            let takes = |consumer: &&ConsumerDescriptor| {
                consumer.module == module.module && consumer.message == *message
            };
            if !consumers.iter().any(takes) {
                let module = module.module;
                let what = format!(
                    "module `{module}` lists `{message}` in `consumes`, but no consumer of it takes that message"
                );
                faults.push(Fault::new(what, "write one, with `&mut Context<..>` of that module or `module = ..`, or take the message off the list"));
            }
        }
    }
    for consumer in consumers {
        let (name, at) = (consumer.name(), consumer.identity.at);
        if modules.iter().any(|module| module.module == consumer.module) {
            for missing in
                consumer.requirements.iter().filter_map(|needs| needs()).filter(|r| !states.has(*r))
            {
                let what = format!(
                    "consumer `{name}` ({at}) takes `State<{}>`, but the app has none",
                    missing.type_name
                );
                faults.push(Fault::new(what, "give it one: `|app| app.state(..)`"));
            }
        } else if !others_run_elsewhere {
            let module = consumer.module;
            let what = format!("consumer `{name}` ({at}) belongs to module `{module}`, which is not run");
            faults.push(Fault::new(
                what,
                "name that module in `run!` or `app!`, or write `..` after the modules if it runs elsewhere",
            ));
        }
    }
    faults.dedup();
    faults
}

fn messages(messages: &[&MessageDescriptor], faults: &mut Vec<Fault>) {
    let mut seen: BTreeMap<(&str, u32), &str> = BTreeMap::new();
    for message in messages {
        for name in std::iter::once(&message.name).chain(message.aliases) {
            plain("message", name, message.at, faults);
        }
        if let Some(first) = seen.insert((message.name, message.version), message.at) {
            let what = format!(
                "two messages are called `{}` (version {}): {first} and {}",
                message.name, message.version, message.at
            );
            faults.push(Fault::new(what, "give one of them another name: `#[message(name = \"..\")]`"));
        }
    }
}

fn consumer_names(consumers: &[&ConsumerDescriptor], faults: &mut Vec<Fault>) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for consumer in consumers {
        let at = consumer.identity.at;
        let aliases = consumer.identity.aliases.iter().map(|alias| (*alias).to_owned());
        for name in std::iter::once(consumer.name()).chain(aliases) {
            plain("consumer", &name, at, faults);
            if let Some(first) = seen.insert(name.clone(), at) {
                let what = format!("two consumers are called `{name}`: {first} and {at}");
                faults.push(Fault::new(what, "give one of them another name: `#[consumer(name = \"..\")]`"));
            }
        }
    }
}

fn plain(kind: &str, name: &str, at: &str, faults: &mut Vec<Fault>) {
    if !is_plain(name) {
        let help = "use letters, digits and `_-.:`, a letter first, at most 128 of them";
        faults.push(Fault::new(format!("{kind} name `{name}` ({at}) is not plain"), help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_and_odd_message_names_are_told() {
        let message = |name, at| MessageDescriptor { name, version: 1, aliases: &[], at };
        let (a, b, c) = (message("a", "x.rs:1"), message("a", "y.rs:2"), message("b; --", "z.rs:3"));
        let mut faults = Vec::new();
        messages(&[&a, &b, &c], &mut faults);
        let text: Vec<&str> = faults.iter().map(|fault| fault.what.as_str()).collect();
        assert_eq!(
            text,
            [
                "two messages are called `a` (version 1): x.rs:1 and y.rs:2",
                "message name `b; --` (z.rs:3) is not plain"
            ]
        );
    }
}
