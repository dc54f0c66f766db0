//! Many connections at once, each with its next request as soon as the last one is answered: for so long, or until
//! there is nothing left to do. All of them live on one thread.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::Result;
use crate::meter::Cost;

/// Connections at once.
pub const CONNECTIONS: usize = 64;

/// Whoever asks over a connection.
pub trait Client: Send + 'static {
    /// Asks once, and looks at the answer; false if there is nothing left to ask.
    fn once(&mut self) -> impl Future<Output = Result<bool>> + Send;
}

/// What many clients did.
#[derive(Clone, Copy, Default)]
pub struct Load {
    pub answers: usize,
    pub wall: Duration,
}

impl Load {
    pub fn rate(&self) -> f64 {
        Cost { wall: self.wall, ..Cost::default() }.rate(self.answers)
    }
}

/// Lets all clients ask, and gives them back.
pub async fn drive<C: Client>(clients: Vec<C>, span: Duration) -> Result<(Vec<C>, Load)> {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for mut client in clients {
        running.spawn(async move {
            let mut answers = 0;
            while begun.elapsed() < span && client.once().await? {
                answers += 1;
            }
            Result::<_>::Ok((client, answers))
        });
    }
    let mut clients = Vec::with_capacity(running.len());
    let mut answers = 0;
    while let Some(finished) = running.join_next().await {
        let (client, of_client) = finished??;
        clients.push(client);
        answers += of_client;
    }
    Ok((clients, Load { answers, wall: begun.elapsed() }))
}
