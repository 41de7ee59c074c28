//! Which process is meant: a number alone is given away again. Whoever can see that a process is gone need not wait for
//! its silence to become suspicious.

use std::fs;

/// This process, so that others on this machine can tell whether it is still there: its boot, its namespace, its number
/// and when it began. Empty where the system does not say.
pub(super) fn this() -> String {
    place()
        .and_then(|place| Some(format!("{place} {} {}", std::process::id(), began(std::process::id())?)))
        .unwrap_or_default()
}

/// Whether that process ended. Of processes elsewhere nobody can say: `false`.
pub(super) fn is_gone(process: &str) -> bool {
    let mut words = process.rsplitn(3, ' ');
    let (Some(time), Some(number), Some(at)) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let Ok(number) = number.parse() else { return false };
    place().is_some_and(|here| here == at) && sees_others() && began(number).is_none_or(|began| began != time)
}

/// A system may show a process only those of its own user: then nobody can say.
fn sees_others() -> bool {
    fs::read_to_string("/proc/1/stat").is_ok()
}

/// Where numbers of processes mean the same: a boot of the machine, and a namespace.
fn place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// When a process began, in ticks; `None`: there is none, or it has ended and nobody has noticed.
fn began(number: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name stands in brackets and may hold anything; behind it the state is the first word, the time the twentieth.
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if matches!(words.first(), Some(&"Z" | &"X")) {
        return None;
    }
    words.get(19).map(|time| (*time).to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_there_until_it_ends() {
        assert!(!is_gone(&this()));
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let other = format!("{} {} {}", place().unwrap(), child.id(), began(child.id()).unwrap());
        assert!(!is_gone(&other));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_gone(&other));
    }

    #[test]
    fn a_number_that_was_given_away_again_is_another_process() {
        let another = format!("{} {} 1", place().unwrap(), std::process::id());
        assert!(is_gone(&another));
    }

    #[test]
    fn of_what_is_elsewhere_nobody_can_say() {
        for process in ["", "x", "1 2", "another-boot pid:[1] 99999999 5"] {
            assert!(!is_gone(process), "{process}");
        }
    }
}
