use std::io::Read;
use std::process::Stdio;

use super::{keyaki, program};

#[test]
fn help_names_every_command() {
    let ran = keyaki(&["--help"]);
    ran.expect(0, &["tour", "check", "stat", "visibility", "backup", "restore", "Exit codes"]);
    assert!(!ran.out.contains("victim"), "{}", ran.out);
}

#[test]
fn bad_arguments_are_a_usage_error() {
    keyaki::<&str>(&[]).expect(2, &["Usage"]);
    keyaki(&["chekc"]).expect(2, &["chekc"]);
    keyaki(&["check"]).expect(2, &["DIR"]);
}

#[test]
fn what_is_no_store_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let empty = folder.path().join("empty");
    let foreign = folder.path().join("foreign");
    std::fs::create_dir(&empty).unwrap();
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("letter.txt"), "dear").unwrap();
    for command in ["check", "stat"] {
        for dir in [&missing, &empty, &foreign] {
            let ran = keyaki(&[command.as_ref(), dir.as_os_str()]);
            ran.expect(2, &[&dir.display().to_string()]);
            assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        }
    }
    let to = folder.path().join("to");
    for command in ["backup", "restore"] {
        for dir in [&missing, &empty, &foreign] {
            let ran = keyaki(&[command.as_ref(), dir.as_os_str(), to.as_os_str()]);
            ran.expect(2, &[&dir.display().to_string()]);
        }
    }
    assert!(!missing.exists() && !to.exists());
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(&foreign).unwrap().count(), 1);
}

/// A reader that goes away, as `| head -1` does, is no reason to panic.
#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child =
        program().arg("tour").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());
}
