//! What can be found wrong without a database: names, wiring, states.

use std::collections::BTreeMap;

use super::Problem;
use crate::{
    consumer::{ConsumerDescriptor, States},
    message::{MessageDescriptor, is_plain},
    module::Contract,
};

/// What the linker cannot see under every profile, and what it cannot see at all.
pub(super) fn problems(modules: &[Contract], others_run_elsewhere: bool, states: &States) -> Vec<Problem> {
    let mut problems = Vec::new();
    messages(&MessageDescriptor::all(), &mut problems);
    let consumers = ConsumerDescriptor::all();
    consumer_names(&consumers, &mut problems);
    for module in modules {
        plain("module", module.module, "the `module!` declaration", &mut problems);
        if modules.iter().filter(|other| other.module == module.module).count() > 1 {
            let help = "give one of them another `name: \"..\"`";
            problems.push(Problem::new(format!("two modules are called `{}`", module.module), help));
        }
    }
    for module in modules {
        for message in module.consumes {
            let takes = |consumer: &&ConsumerDescriptor| {
                consumer.module == module.module && consumer.message == *message && !consumer.is_fault
            };
            if !consumers.iter().any(takes) {
                let module = module.module;
                let what = format!(
                    "module `{module}` lists `{message}` in `consumes`, but no consumer of it takes that message"
                );
                problems.push(Problem::new(what, "write one, with `&mut Context<..>` of that module or `module = ..`, or take the message off the list"));
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
                problems.push(Problem::new(what, "give it one: `|app| app.state(..)`"));
            }
        } else if !others_run_elsewhere {
            let module = consumer.module;
            let what = format!("consumer `{name}` ({at}) belongs to module `{module}`, which is not run");
            problems.push(Problem::new(
                what,
                "name that module in `run!` or `app!`, or write `..` after the modules if it runs elsewhere",
            ));
        }
    }
    problems.dedup();
    problems
}

fn messages(messages: &[&MessageDescriptor], problems: &mut Vec<Problem>) {
    let mut seen: BTreeMap<(&str, u32), &str> = BTreeMap::new();
    for message in messages {
        for name in std::iter::once(&message.name).chain(message.aliases) {
            plain("message", name, message.at, problems);
        }
        if let Some(first) = seen.insert((message.name, message.version), message.at) {
            let what = format!(
                "two messages are called `{}` (version {}): {first} and {}",
                message.name, message.version, message.at
            );
            problems.push(Problem::new(what, "give one of them another name: `#[message(name = \"..\")]`"));
        }
    }
}

fn consumer_names(consumers: &[&ConsumerDescriptor], problems: &mut Vec<Problem>) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for consumer in consumers {
        let at = consumer.identity.at;
        let aliases = consumer.identity.aliases.iter().map(|alias| (*alias).to_owned());
        for name in std::iter::once(consumer.name()).chain(aliases) {
            plain("consumer", &name, at, problems);
            if let Some(first) = seen.insert(name.clone(), at) {
                let what = format!("two consumers are called `{name}`: {first} and {at}");
                problems
                    .push(Problem::new(what, "give one of them another name: `#[consumer(name = \"..\")]`"));
            }
        }
    }
}

fn plain(kind: &str, name: &str, at: &str, problems: &mut Vec<Problem>) {
    if !is_plain(name) {
        let help = "use letters, digits and `_-.:`, a letter first, at most 128 of them";
        problems.push(Problem::new(format!("{kind} name `{name}` ({at}) is not plain"), help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_and_odd_message_names_are_told() {
        let message = |name, at| MessageDescriptor {
            name,
            version: 1,
            aliases: &[],
            at,
            upgrades: false,
            partition: None,
            codec: "application/json",
            shape: crate::message::Shape { serde: "", variants: &[] },
        };
        let (a, b, c) = (message("a", "x.rs:1"), message("a", "y.rs:2"), message("b; --", "z.rs:3"));
        let mut problems = Vec::new();
        messages(&[&a, &b, &c], &mut problems);
        let text: Vec<&str> = problems.iter().map(|problem| problem.what.as_str()).collect();
        assert_eq!(
            text,
            [
                "two messages are called `a` (version 1): x.rs:1 and y.rs:2",
                "message name `b; --` (z.rs:3) is not plain"
            ]
        );
    }
}
