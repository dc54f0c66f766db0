use super::{fill, keyaki, open};

#[tokio::test]
async fn it_counts_cells_by_space() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("store");
    let store = open(&dir);
    let bucket = fill(&store).await;
    let dropped = store.create_bucket(Default::default()).await.unwrap().id();
    store.drop_bucket(dropped).await.unwrap();
    drop((bucket, store));

    let ran = keyaki(&["stat".as_ref(), dir.as_os_str(), "--json".as_ref()]);
    let report = ran.expect(0, &[]).json();
    let cells = |label: &str| {
        let spaces = report["spaces"].as_array().unwrap();
        let named = |space: &&serde_json::Value| space["label"] == label && space["bucket"] == 1;
        spaces.iter().find(named).unwrap()["cells"].as_u64().unwrap()
    };
    let counts = ["primary", "chunks", "views", "claims", "changes"].map(cells);
    assert_eq!(counts, [3, 3, 3, 0, 0]);
    assert_eq!(report["totals"]["cells"], 9);
    assert_eq!(report["totals"]["spaces"], 7);
    let bytes = report["totals"]["bytes"].as_u64().unwrap();
    assert!((250..2_000).contains(&bytes), "{bytes}");

    let ran = keyaki(&["stat".as_ref(), dir.as_os_str()]);
    ran.expect(0, &["9 cells in 7 spaces", "primary", "quarantine"]);
}
