//! Several nodes have both databases: one of them carries, and another one when it goes.

use fluens::prelude::*;
use fluens_tests::probe::{Probe, in_time};

use super::{
    outage::assert_in_order,
    support::{Orders, Spoiled, Step, Wrong, create_steps, places, steps},
};

#[tokio::test(flavor = "multi_thread")]
async fn keys_stay_in_order_while_nodes_come_and_go() {
    let (places, probe, spoiled) = (places!(), Probe::default(), Spoiled::by(Wrong::Flaky));
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        nodes.push(places.app(&probe, &spoiled).node(name).start().await.unwrap());
    }
    create_steps(&nodes[2]).await;
    for n in 0..90 {
        let all: Vec<Step> = (0..10).map(|key| Step { key, n }).collect();
        Orders::of(&nodes[2]).publish_all(&all).await.unwrap();
        if n == 30 || n == 60 {
            // Whoever carries goes in the end, the second time in the middle of what it does.
            let node = nodes.remove(0);
            if n == 30 {
                in_time("a goodbye", node.shutdown()).await.unwrap();
            }
            drop(node);
            let name = format!("new-{n}");
            nodes.insert(1, places.app(&probe, &spoiled).node(name).start().await.unwrap());
        }
    }
    let all_there = async {
        loop {
            let seen = probe.events().len();
            for node in &nodes {
                node.settled().await;
            }
            if steps(&nodes[2]).await.len() >= 900 {
                return;
            }
            // Some node is yet to learn of something.
            probe.wait_for(seen + 1).await;
        }
    };
    in_time("all steps", all_there).await;
    assert_in_order(&steps(&nodes[2]).await, 10, 90);
}
