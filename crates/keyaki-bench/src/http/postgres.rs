//! The baseline of writes: PostgreSQL as its package sets it up, in a cluster of its own on the same disk, asked by
//! pgbench over a socket.
//!
//! `UPDATE … WHERE key = $1 AND tid = $2`, as a prepared statement that commits by itself: each client goes round its
//! own keys and knows the tid that it wrote last, as our clients know the tag.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use super::load::CONNECTIONS;
use super::puts::ITEMS;
use super::rounds::{BothCpu, Turn};
use crate::Result;

/// Where Debian's package has its programs, by version.
const PACKAGES: &str = "/usr/lib/postgresql";
/// PostgreSQL refuses to run as root, and its package makes this user.
const USER: &str = "postgres";
/// Once round a client's keys, each tid has risen by one.
const SCRIPT: &str = "\
\\set key :client_id * :items + :turn % :items
\\set tid :turn / :items
UPDATE items SET tid = :tid + 1, value = :value WHERE key = :key AND tid = :tid;
\\set turn :turn + 1
";

/// A cluster that ends with this.
pub struct Postgres {
    programs: PathBuf,
    dir: tempfile::TempDir,
    pid: u32,
}

impl Postgres {
    /// Makes a cluster in a folder of `dir`, and a table as large as ours.
    pub fn start(dir: &Path) -> Result<Self> {
        let mut this = Self {
            programs: programs()?,
            dir: tempfile::Builder::new().prefix("pg-").tempdir_in(dir)?,
            pid: 0,
        };
        if rustix::process::geteuid().is_root() {
            done(Command::new("chown").arg(USER).arg(this.dir.path()).output()?)?;
        }
        let data = this.data();
        done(this.as_user("initdb").args(["-A", "trust", "-U", USER, "-D"]).arg(&data).output()?)?;
        let socket = this.dir.path().display();
        let options = format!("-k {socket} -c listen_addresses=''");
        let log = this.dir.path().join("log");
        let mut start = this.as_user("pg_ctl");
        start.args(["start", "-w", "-D"]).arg(&data).arg("-l").arg(log).args(["-o", &options]);
        // Its output would stay open in the server.
        if !start.stdout(std::process::Stdio::null()).status()?.success() {
            return Err("PostgreSQL does not start".into());
        }
        let pid = std::fs::read_to_string(data.join("postmaster.pid"))?;
        this.pid = pid.lines().next().ok_or("PostgreSQL has no process")?.trim().parse()?;
        this.make_table()?;
        Ok(this)
    }

    fn make_table(&self) -> Result<()> {
        let last = CONNECTIONS * ITEMS - 1;
        self.sql(
            "CREATE TABLE items (key bigint PRIMARY KEY, tid bigint NOT NULL, value text NOT NULL)",
        )?;
        self.sql(&format!(
            "INSERT INTO items SELECT key, 0, '{}' FROM generate_series(0, {last}) key",
            value()
        ))?;
        self.sql("VACUUM ANALYZE items")?;
        self.sql("CHECKPOINT").map(drop)
    }

    pub fn version(&self) -> Result<String> {
        let settings =
            "'server_version', 'synchronous_commit', 'fsync', 'wal_sync_method', 'shared_buffers'";
        let query = format!(
            "SELECT 'PostgreSQL ' || string_agg(replace(name || ' ' || current_setting(name), 'server_version ', ''), ', ')
             FROM unnest(ARRAY[{settings}]) name"
        );
        self.sql(&query)
    }

    /// So many updates a second, each of which must have found its row.
    pub fn bench(&self, span: Duration) -> Result<Turn> {
        self.sql("UPDATE items SET tid = 0")?;
        let script = self.dir.path().join("update.sql");
        std::fs::write(&script, SCRIPT)?;
        let cpu = BothCpu::of(self.pid)?;
        let clients = CONNECTIONS.to_string();
        let output = done(
            Command::new(self.programs.join("pgbench"))
                .args(["-n", "-M", "prepared", "-j", "1", "-c", &clients, "-U", USER, "-h"])
                .arg(self.dir.path())
                .args(["-T", &span.as_secs().max(1).to_string()])
                .args(["-D", "turn=0", "-D", &format!("items={ITEMS}")])
                .args(["-D", &format!("value={}", value()), "-f"])
                .arg(&script)
                .arg("postgres")
                .output()?,
        )?;
        let made = number_behind(&output, "number of transactions actually processed: ")?;
        let rate = number_behind(&output, "tps = ")?;
        let found: f64 = self.sql("SELECT sum(tid) FROM items")?.parse()?;
        if found != made {
            return Err(format!("of {made} updates only {found} found their row").into());
        }
        cpu.turn(made as usize, rate)
    }

    fn sql(&self, statement: &str) -> Result<String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-U", USER, "-h"]);
        let output = psql.arg(self.dir.path()).args(["-c", statement, "postgres"]).output()?;
        Ok(done(output)?.trim().to_owned())
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A program of PostgreSQL, as somebody who is not root.
    fn as_user(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        if !rustix::process::geteuid().is_root() {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--init-groups"]).arg(program);
        // It wants to know where it is, and that may be where the user may not look.
        command.current_dir("/");
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.pid != 0 {
            let mut stop = self.as_user("pg_ctl");
            // Its folder goes in any case.
            let _ = stop.args(["stop", "-m", "immediate", "-D"]).arg(self.data()).output();
        }
    }
}

/// Where `pgbench` and its like are: the newest that the package has, or those on the path.
fn programs() -> Result<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(PACKAGES).into_iter().flatten() {
        let entry = entry?;
        let programs = entry.path().join("bin");
        let version = entry.file_name().to_string_lossy().parse();
        if let (Ok(version), true) = (version, programs.join("pgbench").exists()) {
            found.push((version, programs));
        }
    }
    let newest = found.into_iter().max().map(|(_, programs)| programs);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = || std::env::split_paths(&path).find(|dir| dir.join("initdb").exists());
    newest.or_else(on_path).ok_or_else(|| {
        "PostgreSQL is missing; on Debian and Ubuntu: apt-get install postgresql".into()
    })
}

/// As long as our content.
fn value() -> String {
    "v".repeat(super::items::CONTENT_BYTES)
}

/// What a program printed, if it went well.
fn done(output: Output) -> Result<String> {
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

fn number_behind(text: &str, name: &str) -> Result<f64> {
    let rest = text.split_once(name).ok_or_else(|| format!("pgbench tells no `{name}`"))?.1;
    let number = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next();
    Ok(number.unwrap_or_default().parse()?)
}
