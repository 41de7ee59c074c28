//! What stands around the consumers of each module.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::Arc,
};

use crate::{consumer::Interceptor, module::Module};

/// Interceptors by module, without their types.
#[derive(Default)]
pub(super) struct Interceptors(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

type Of<M> = Vec<Arc<dyn Interceptor<M>>>;

impl Interceptors {
    pub(super) fn add<M: Module>(&mut self, interceptor: impl Interceptor<M>) {
        let all = self.0.entry(TypeId::of::<M>()).or_insert_with(|| Box::new(Of::<M>::new()));
        if let Some(all) = all.downcast_mut::<Of<M>>() {
            all.push(Arc::new(interceptor));
        }
    }

    /// In the order in which they were added: the first is the outermost.
    pub(super) fn of<M: Module>(&self) -> Of<M> {
        self.0
            .get(&TypeId::of::<M>())
            .and_then(|all| all.downcast_ref::<Of<M>>())
            .cloned()
            .unwrap_or_default()
    }
}
