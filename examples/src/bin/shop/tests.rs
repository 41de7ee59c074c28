//! The shop under test: the same modules and consumers, on a database of each test's own, with a clock that stands
//! still. `cargo test -p fluens-examples`

use std::sync::Arc;

use fluens::{
    Filter,
    testing::{self, TestApp},
};

use super::*;

/// The modules in the order in which they were given, the last one outermost.
type Shop = TestApp<(Billing, (Stock, (Orders, ())))>;

async fn start() -> Shop {
    testing::start(fluens::app!(Orders, Stock, Billing, |app| set_up(app, Bank::default()))).await.unwrap()
}

async fn status(app: &Shop, order: i64) -> String {
    let mut conn = Orders::of(app).connection().await.unwrap();
    orders::table.find(order).select(orders::status).first(&mut *conn).await.unwrap()
}

async fn pieces(app: &Shop, article: &str) -> i64 {
    let mut conn = Stock::of(app).connection().await.unwrap();
    stock::table.find(article).select(stock::pieces).first(&mut *conn).await.unwrap()
}

/// Worth a test by itself, and needs no database: names, wiring, states, settings.
#[test]
fn all_parts_fit_together() {
    fluens::app!(Orders, Stock, Billing, |app| set_up(app, Bank::default())).verify().unwrap();
}

/// The pauses between the attempts take no time: the clock jumps.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_paid_although_the_bank_fails_three_times() {
    let app = start().await;
    let noon = app.now();
    place(&Orders::of(&app), 1, 7, "tea", Priority::Normal).await.unwrap();
    app.settled().await;

    assert_eq!(app.attempts::<StockReserved>(), 4);
    assert_eq!((app.now() - noon).num_milliseconds(), 100 + 300 + 500);
    assert_eq!(app.consumed::<OrderPaid>().len(), 1);
    assert_eq!(status(&app, 1).await, "paid");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_order_of_the_last_saffron_is_refused() {
    let app = start().await;
    let orders = Orders::of(&app);
    place(&orders, 1, 7, "saffron", Priority::Normal).await.unwrap();
    place(&orders, 2, 8, "saffron", Priority::Normal).await.unwrap();
    app.settled().await;

    let refused = app.consumed::<OrderRefused>();
    assert_eq!(refused.len(), 1);
    assert_eq!((refused[0].order, refused[0].why.as_str()), (2, "no saffron left"));
    assert_eq!((status(&app, 1).await, status(&app, 2).await), ("paid".into(), "refused".into()));
    assert_eq!(pieces(&app, "saffron").await, 0);
}

/// A consumer is an async function like any other.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_alone_takes_one_piece() {
    let app = start().await;
    let placed = || OrderPlaced { order: 1, customer: 7, article: "tea".into(), priority: Priority::Normal };

    let mut ctx = app.context::<Stock, _>(&placed());
    let (reserved, refused) = reserve(placed(), &mut ctx).await.unwrap();
    assert_eq!((reserved.map(|reserved| reserved.order), refused.is_none()), (Some(1), true));
    drop(ctx);
    assert_eq!(pieces(&app, "tea").await, 1000, "undone with its context");

    let mut ctx = app.context::<Stock, _>(&placed());
    reserve(placed(), &mut ctx).await.unwrap();
    ctx.commit().await.unwrap();
    assert_eq!(pieces(&app, "tea").await, 999);
}

/// A state is given as an argument.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_alone_fails_with_the_bank() {
    let app = start().await;
    let bank = Arc::new(Bank::default());
    let reserved = || StockReserved { order: 1, customer: 7 };
    let mut ctx = app.context::<Billing, _>(&reserved());
    for _ in 0..3 {
        let charged = charge(reserved(), State(bank.clone()), &mut ctx).await;
        let Err(failure) = charged else { panic!("the bank answered too early") };
        assert!(failure.to_string().starts_with("no answer from the bank about"), "{failure}");
    }
    assert_eq!(charge(reserved(), State(bank), &mut ctx).await.unwrap().order, 1);
}

/// Whatever fails in between.
#[tokio::test(flavor = "multi_thread")]
async fn the_orders_of_a_customer_stay_in_order() {
    let app = start().await;
    for id in 1..=30 {
        place(&Orders::of(&app), id, id % 3, "coffee", Priority::Normal).await.unwrap();
    }
    app.settled().await;

    for customer in 0..3 {
        let charged = app.consumed_by::<StockReserved>("billing.charge").into_iter();
        let charged: Vec<i64> = charged.filter(|one| one.customer == customer).map(|one| one.order).collect();
        assert_eq!(charged, (1..=30).filter(|id| id % 3 == customer).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_given_up_and_nothing_is_left() {
    let app = start().await;
    let orders = Orders::of(&app);
    place(&orders, 1, 7, "tea", Priority::Low).await.unwrap();
    place(&orders, 2, 7, "saffron", Priority::Normal).await.unwrap();
    place(&orders, 3, 8, "saffron", Priority::Critical).await.unwrap();
    app.settled().await;

    assert!(app.dead_lettered::<OrderPlaced>().is_empty());
    assert!(app.dead_lettered::<StockReserved>().is_empty());
    assert_eq!(Billing::of(&app).dead_letters().count(Filter::new()).await.unwrap(), 0);
    assert_eq!(app.published::<OrderPaid>().len() + app.published::<OrderRefused>().len(), 3);
}
