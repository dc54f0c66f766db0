use super::keyaki;

#[test]
fn it_shows_what_it_promises() {
    let ran = keyaki(&["tour"]);
    ran.expect(
        0,
        &[
            "1. One commit",
            "books by Austen: 1",
            "Emma, Middlemarch, Silas Marner, Villette; 4 changes",
            "Emma, Middlemarch, Persuasion, Silas Marner, Villette; 5 changes",
            "shelved by commit",
            "2 before, 2 after: nothing changed",
            "wins",
            "is refused, and told what is there now",
            "the title is claimed",
            "Villette, Silas Marner | Persuasion, Middlemarch | Emma",
            "of them missing          0",
            "problems                 0",
            "Sound",
        ],
    );
    assert_eq!(ran.err, "");
    assert!(ran.out.lines().count() <= 80, "a tour, not a book");
}

#[test]
fn it_cleans_up() {
    let folder = tempfile::tempdir().unwrap();
    let output = super::program().arg("tour").env("TMPDIR", folder.path()).output().unwrap();
    assert!(output.status.success());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
