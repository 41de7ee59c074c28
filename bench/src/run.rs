//! One run: the parts that were asked for, and a report.

use std::time::Instant;

use anyhow::Result;

use crate::{
    arguments::Options,
    compile, contestant,
    contestant::Contestant,
    measures::Measures,
    once,
    plan::Plan,
    report::{self, Report},
    rounds,
    server::Server,
};

pub(crate) struct Bench<'a> {
    pub(crate) options: &'a Options,
    pub(crate) plan: Plan,
    pub(crate) server: Server,
    pub(crate) floor: Contestant,
    pub(crate) fluens: Contestant,
    pub(crate) rivals: Vec<Contestant>,
    pub(crate) measures: Measures,
    started: Instant,
}

impl Bench<'_> {
    pub(crate) fn say(&self, text: &str) {
        eprintln!("{:>4} s  {text}", self.started.elapsed().as_secs());
    }
}

/// `false`: all was counted right, but a bar was missed and `--strict` asks for all.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let plan = Plan::new(options);
    let rivals = if plan.rivals { contestant::rivals() } else { Vec::new() };
    let mut bench = Bench {
        options,
        server: Server::start()?,
        floor: contestant::floor()?,
        fluens: contestant::fluens()?,
        rivals,
        measures: Measures::default(),
        started: Instant::now(),
        plan,
    };
    let server = bench.server.version()?;
    rounds::measure(&mut bench)?;
    once::measure(&mut bench)?;
    if bench.plan.compile && options.wants("compile") {
        compile::measure(&mut bench)?;
    }
    let report = Report::new(&bench.measures, options, &server);
    print!("{}", report::table::text(&report));
    report::write(&report)?;
    Ok(!options.strict || report.met())
}
