// The program itself: it starts, and does what it is told. Its other database is a choosy one.

/// Refuses some at first, and some always.
struct Choosy(Arc<dyn Destination>);

impl Destination for Choosy {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Vec<Ack>, DeliveryError>> {
        Box::pin(async move {
            let is_refused = |payload: &[u8], refusals: u32| {
                let place = number_in(payload) % 1000;
                place >= 450 || place >= 400 && refusals == 0
            };
            let (mut refused, mut taken) = (Vec::new(), parcel.clone());
            taken.messages.retain(|message| {
                let no = is_refused(&message.payload, message.refusals);
                refused.extend(no.then(|| Ack::new(message.id, Answer::Refused("not this one".to_owned()))));
                !no
            });
            let mut acks =
                if taken.messages.is_empty() { Vec::new() } else { self.0.deliver(&taken).await? };
            acks.extend(refused);
            Ok(acks)
        })
    }
}

/// The first number of a payload: that of its message.
fn number_in(payload: &[u8]) -> i64 {
    let digits: Vec<u8> = payload
        .iter()
        .copied()
        .skip_while(|byte| !byte.is_ascii_digit())
        .take_while(u8::is_ascii_digit)
        .collect();
    String::from_utf8_lossy(&digits).parse().unwrap_or(0)
}

static GATE: LazyLock<Gate> = LazyLock::new(|| {
    let gate = Gate::closed();
    if std::env::var("TORTURE_GATE").is_err() {
        gate.open();
    }
    gate
});

fluens::run!(
    Here,
    There,
    |app| app
        .state(GATE.clone())
        .database_of::<There>(std::env::var("TORTURE_THERE").unwrap_or_default())
        .retry(&[], &[Duration::from_millis(30), Duration::from_millis(30)])
        .around_destinations(|to| Arc::new(Choosy(to))),
    async |app| {
        let mut orders = orders(GATE.clone());
        println!("serving");
        let mut stop = std::pin::pin!(app.stop_requested());
        loop {
            let words = tokio::select! {
                () = &mut stop => return Ok(()),
                Some(words) = orders.recv() => words,
            };
            let ["do", name, base, line] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
                return Err(format!("{words:?}?").into());
            };
            let place = fluens_torture::parts::place_of(name).ok_or(format!("no part is called {name}"))?;
            let key = line.parse::<i64>()? * 10_000 + i64::try_from(place)? * 100;
            let numbers = Numbers { base: base.parse()?, key };
            match part(name, numbers, app).await {
                Ok(()) => println!("did {name} {base}"),
                Err(failure) => println!("failed {name} {base} {}", failure.to_string().replace('\n', " ")),
            }
        }
    }
);
