use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! {
    Net {
        db: fluens::sqlite::Db,
        publishes: [external Ping],
        cron: [
            "" => Ping,
            "every day" => Ping,
            "0 25 * * *" => Ping,
            "* * * *" => Ping,
            "0 0 3 * * * 2030" => Ping,
        ],
    }
}

fn main() {}
