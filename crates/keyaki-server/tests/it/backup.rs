use keyaki::cell::visibility::Authorisations;

use super::{fill, keyaki, open};

#[tokio::test]
async fn a_backup_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let [dir, copy, back] = ["store", "copy", "back"].map(|name| folder.path().join(name));
    let store = open(&dir);
    let id = fill(&store).await.id();
    drop(store);

    keyaki(&["backup".as_ref(), dir.as_os_str(), copy.as_os_str()]).expect(0, &["backed up"]);
    std::fs::remove_dir_all(&dir).unwrap();
    keyaki(&["restore".as_ref(), copy.as_os_str(), back.as_os_str()]).expect(0, &["restored"]);
    keyaki(&["check".as_ref(), back.as_os_str()]).expect(0, &["Sound: 9 cells"]);

    let bucket = open(&back).bucket(id).unwrap();
    let read = bucket.read(&Authorisations::none(), b"home", b"c").await.unwrap();
    assert_eq!(read, Some(vec![b'x'; 250]));
}

#[tokio::test]
async fn nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let [dir, taken] = ["store", "taken"].map(|name| folder.path().join(name));
    drop(fill(&open(&dir)).await);
    std::fs::create_dir(&taken).unwrap();
    for command in ["backup", "restore"] {
        let ran = keyaki(&[command.as_ref(), dir.as_os_str(), taken.as_os_str()]);
        ran.expect(2, &["exists already", "taken"]);
    }
    let partial = folder.path().join("new.v2.partial");
    std::fs::create_dir(&partial).unwrap();
    std::fs::write(partial.join("letter.txt"), "dear").unwrap();
    let new = folder.path().join("new.v2");
    let ran = keyaki(&["restore".as_ref(), dir.as_os_str(), new.as_os_str()]);
    ran.expect(2, &["exists already", "new.v2.partial"]);
    assert!(partial.join("letter.txt").exists() && !new.exists());
}
