//! x
use fluens_torture::{place::Place, sweep::Sweep};
fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let points: Vec<&'static str> =
        fluens_diesel::failpoint::points().into_iter().filter(|p| p.starts_with(&filter)).collect();
    println!("{}", points.len());
    let pg = std::env::args().nth(2).is_some();
    let started = std::time::Instant::now();
    if pg {
        let cluster: &'static _ = Box::leak(Box::new(
            fluens_tests::postgres::Cluster::start(&fluens_tests::postgres::Options::default()).unwrap(),
        ));
        let sweep =
            Sweep { place: Box::new(move || Place::postgres(cluster)), passes: vec![1], all_parts: false };
        sweep.run(&points, |s| println!("{:?} {s:?}", started.elapsed()));
        cluster.stop();
    } else {
        let sweep = Sweep { place: Box::new(Place::sqlite), passes: vec![1], all_parts: false };
        sweep.run(&points, |s| println!("{:?} {s:?}", started.elapsed()));
    }
}
