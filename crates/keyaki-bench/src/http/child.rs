//! Servers as processes of their own, as they are in life: what they cost is theirs alone.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;

const ADMIN: &str = "admin-token-of-this-benchmark";
const ENDS_WITHIN: Duration = Duration::from_secs(20);
/// How the first line of standard output begins, before the address.
pub const LISTENS: &str = "Bare axum listens on http://";
const KEYAKI_LISTENS: &str = "Keyaki listens on http://";

/// A server that ends with this.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// The real program, from beside this one, on a store in `dir`.
    pub fn keyaki(dir: &Path, backend: &str) -> Result<Self> {
        let config = dir.join("keyaki.toml");
        let data = dir.join("data");
        std::fs::write(
            &config,
            format!(
                "listen = \"127.0.0.1:0\"\n[backend.embedded.default]\ndata = {data:?}\n{backend}\n"
            ),
        )?;
        let program = program("keyaki")?;
        let arguments = [program.as_ref(), "serve".as_ref(), "--config".as_ref(), config.as_ref()];
        Self::start(&arguments, KEYAKI_LISTENS)
    }

    /// The bare handler, which this program has inside.
    pub fn bare() -> Result<Self> {
        let program = std::env::current_exe()?;
        Self::start(&[program.as_ref(), "bare-http".as_ref()], LISTENS)
    }

    /// In a session of its own, as PostgreSQL runs: on a busy machine the scheduler may go by sessions.
    fn start(arguments: &[&OsStr], begins: &str) -> Result<Self> {
        let mut command = Command::new("setsid");
        command.args(arguments).env("KEYAKI_ADMIN_TOKEN", ADMIN);
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("a server has no output")?;
        BufReader::new(out).read_line(&mut line)?;
        match line.trim().strip_prefix(begins).and_then(|address| address.parse().ok()) {
            Some(address) => Ok(Self { child, address }),
            None => {
                child.kill()?;
                child.wait()?;
                Err(format!("the server does not say where it listens: {line:?}").into())
            }
        }
    }

    /// The token of who may do everything.
    pub fn admin(&self) -> &'static str {
        ADMIN
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, and waits for that.
    pub fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let begun = Instant::now();
        while begun.elapsed() < ENDS_WITHIN {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the server ended with {status}").into()),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        Err("the server does not stop".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that is built beside this one.
fn program(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    match path.exists() {
        true => Ok(path),
        false => Err(format!("{} is not built: use scripts/dev bench", path.display()).into()),
    }
}
