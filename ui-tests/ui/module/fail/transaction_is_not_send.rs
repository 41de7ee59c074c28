use fluens::prelude::*;

async fn place(handle: Handle<fluens::Main>) -> Result {
    handle
        .transaction(async |tx| -> Result {
            let local = std::rc::Rc::new(1);
            fluens::diesel_async::SimpleAsyncConnection::batch_execute(tx.conn(), "SELECT 1").await?;
            println!("{local}");
            Ok(())
        })
        .await
}

fn main() {
    let _ = place;
}
