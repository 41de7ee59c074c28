//! The consumers linked into this program: registered without their types, found again by module type.

use std::any::Any;

use futures_util::future::BoxFuture;

use super::{ConsumerOptions, Context, Requirement, Taken};
use crate::{Result, module::Module, settle::fault_name};

/// A consumer of module `M`.
pub struct TypedConsumer<M: Module> {
    /// Decodes, extracts, calls the function and stages what it returned.
    pub run: Run<M>,
}

pub(crate) type Run<M> = for<'a> fn(&'a mut Context<M>) -> BoxFuture<'a, Result>;

/// How a consumer is called, now and before.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    /// The `name = ".."` of the attribute.
    pub name: Option<&'static str>,
    /// The function's name.
    pub function: &'static str,
    /// Names it had before.
    pub aliases: &'static [&'static str],
    /// Where it stands: `src/stock.rs:30`.
    pub at: &'static str,
}

/// One `#[consumer]`, registered at link time.
pub struct ConsumerDescriptor {
    pub(crate) identity: Identity,
    pub(crate) module: &'static str,
    pub(crate) message: &'static str,
    pub(crate) message_version: u32,
    pub(crate) message_aliases: &'static [&'static str],
    pub(crate) partitioned: bool,
    pub(crate) is_fault: bool,
    pub(crate) options: ConsumerOptions,
    pub(crate) requirements: &'static [fn() -> Option<Requirement>],
    typed: &'static (dyn Any + Send + Sync),
}

inventory::collect!(ConsumerDescriptor);

impl ConsumerDescriptor {
    /// The descriptor of a consumer of module `M`.
    pub const fn new<M: Module, I>(
        identity: Identity,
        taken: &Taken<I>,
        options: ConsumerOptions,
        requirements: &'static [fn() -> Option<Requirement>],
        typed: &'static TypedConsumer<M>,
    ) -> Self {
        ConsumerDescriptor {
            identity,
            module: M::NAME,
            message: taken.message,
            message_version: taken.version,
            message_aliases: taken.aliases,
            partitioned: taken.partitioned,
            is_fault: taken.is_fault,
            options,
            requirements,
            typed,
        }
    }

    /// All of them, sorted: the linker's order differs between build profiles.
    pub(crate) fn all() -> Vec<&'static ConsumerDescriptor> {
        let mut all: Vec<_> = inventory::iter::<ConsumerDescriptor>().collect();
        all.sort_by_key(|c| (c.name(), c.identity.at));
        all
    }

    /// The stable name.
    pub(crate) fn name(&self) -> String {
        match self.identity.name {
            Some(name) => name.to_owned(),
            None => format!("{}.{}", self.module, self.identity.function),
        }
    }

    /// What it consumes, as people call it: `orders.placed`, or `orders.placed:fault`.
    pub(crate) fn consumed(&self) -> String {
        if self.is_fault { format!("{}:fault", self.message) } else { self.message.to_owned() }
    }

    /// What it subscribes to: the message by its name and its aliases, or faults of it that are for this module.
    pub(crate) fn subscriptions(&self) -> Vec<String> {
        let names = std::iter::once(&self.message).chain(self.message_aliases);
        let of = |name: &&str| if self.is_fault { fault_name(name, self.module) } else { (*name).to_owned() };
        names.map(of).collect()
    }

    pub(crate) fn lanes(&self) -> u16 {
        self.options.lanes.unwrap_or(if self.partitioned { 16 } else { 1 })
    }

    /// The call, if this is a consumer of module `M`.
    pub(crate) fn typed<M: Module>(&self) -> Option<&'static TypedConsumer<M>> {
        self.typed.downcast_ref()
    }
}
