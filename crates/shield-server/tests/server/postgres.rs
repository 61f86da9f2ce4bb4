//! A PostgreSQL of our own, in a temporary folder, on a port that was free.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tempfile::TempDir;

use crate::programs::program;

const PASSWORD: &str = "only-for-tests";

/// A running cluster; it ends when this is dropped.
pub(crate) struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    port: u16,
    server: Child,
}

impl Cluster {
    /// Starts one, or gives none where PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path().join("bin").join("initdb"))
            .collect();
        versions.sort();
        versions.reverse();
        let initdb = program("PostgreSQL", &versions)?;
        let programs = initdb.parent().expect("a program is in a folder").to_owned();

        let folder = tempfile::tempdir().unwrap();
        let password = folder.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        if is_root() {
            let all = [folder.path(), &password];
            let owned = Command::new("chown").arg("postgres").args(all).status().unwrap();
            assert!(owned.success(), "cannot give the folder to the user postgres");
        }
        let made = as_postgres(&initdb)
            .args(["--username=shield", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"])
            .args(["--no-sync", "--no-instructions"])
            .arg("--pwfile")
            .arg(&password)
            .arg("--pgdata")
            .arg(folder.path().join("data"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));

        // Another program may take the port between our look and the server's.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let mut server = spawn(&programs, folder.path(), port);
            if answers(&programs, port, &mut server) {
                return Some(Self { folder, programs, port, server });
            }
            let _ = server.kill();
            let _ = server.wait();
        }
        let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        panic!("PostgreSQL does not start: {log}");
    }

    /// Ends the server as a crash does. Its data stay.
    pub(crate) fn stop(&mut self) {
        let _ = as_postgres(&self.programs.join("pg_ctl"))
            .args(["stop", "--mode=immediate", "--silent", "--pgdata"])
            .arg(self.folder.path().join("data"))
            .current_dir(self.folder.path())
            .status();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// Starts it again where it was.
    pub(crate) fn start_again(&mut self) {
        for _ in 0..5 {
            self.server = spawn(&self.programs, self.folder.path(), self.port);
            if answers(&self.programs, self.port, &mut self.server) {
                return;
            }
            self.stop();
        }
        panic!("PostgreSQL does not start again");
    }

    /// Makes an empty database and gives its URL.
    pub(crate) async fn database(&self, name: &str) -> String {
        let url =
            |name: &str| format!("postgres://shield:{PASSWORD}@127.0.0.1:{}/{name}", self.port);
        let mut connection = PgConnection::connect(&url("postgres")).await.unwrap();
        let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE \"{name}\""));
        sqlx::query(create).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        url(name)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(programs: &Path, folder: &Path, port: u16) -> Child {
    let log = fs::File::create(folder.join("log")).unwrap();
    as_postgres(&programs.join("postgres"))
        .arg("-D")
        .arg(folder.join("data"))
        .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
        .args(["-c", &format!("port={port}")])
        .args(["-c", &format!("unix_socket_directories={}", folder.display())])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

fn answers(programs: &Path, port: u16, server: &mut Child) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_mins(2) && matches!(server.try_wait(), Ok(None)) {
        let ready = Command::new(programs.join("pg_isready"))
            .args(["--quiet", "--host=127.0.0.1", "--dbname=postgres", "--username=shield"])
            .arg(format!("--port={port}"))
            .status();
        if ready.is_ok_and(|status| status.success()) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// PostgreSQL refuses to run as root; Debian's package brings a user for it.
fn as_postgres(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
