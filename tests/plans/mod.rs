//! The steps are taken through the store, as a node takes them, so the statements are those that the product sends.

#[cfg(feature = "postgres")]
mod postgres;
mod snapshot;
mod sqlite;
mod steps;
#[path = "../../fluens-diesel/tests/cases/support.rs"]
#[allow(dead_code)] // more than is needed here
mod support;

/// How one statement was carried out.
#[derive(Default)]
struct Plan {
    /// For people: a line for each part.
    text: String,
    /// The parts that read the whole inbox.
    scans: Vec<String>,
}

impl Plan {
    fn add(&mut self, depth: usize, part: &str) {
        self.text.extend(["  ".repeat(depth).as_str(), part, "\n"]);
    }
}

/// What a step sent.
struct Step {
    name: &'static str,
    plans: Vec<Plan>,
}

/// All steps, as a snapshot has them.
fn text(steps: &[Step]) -> String {
    let mut text = String::new();
    for Step { name, plans } in steps {
        // The same statement for each message of many.
        for same in plans.chunk_by(|one, next| one.text == next.text) {
            let times = if same.len() > 1 { format!(", {} times", same.len()) } else { String::new() };
            text.extend(["== ", name, &times, "\n", &same[0].text, "\n"]);
        }
    }
    text
}

/// Apart from any snapshot: whatever the plans are, none reads it all, but for what is known to.
fn assert_nothing_reads_the_whole_inbox(steps: &[Step], when: &str, known: &[(&str, &str)]) {
    let mut wrong = String::new();
    for Step { name, plans } in steps {
        for plan in plans {
            let is_known = |scan: &&String| known.contains(&(name, scan.as_str()));
            for scan in plan.scans.iter().filter(|scan| !is_known(scan)) {
                wrong.extend(["\n== ", name, ": ", scan, "\n", &plan.text]);
            }
        }
    }
    assert!(wrong.is_empty(), "{when}, the whole inbox is read by{wrong}");
}
