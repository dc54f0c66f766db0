//! Jobs: what is kept of them and for how long, and what is believed of those whose server has gone.

use std::time::Duration;

use keyaki::bucket::graph::operation::{Background, Output, Step, Who};
use keyaki::bucket::graph::{BELIEVED_FOR, JobStatus, KEPT_FOR};
use keyaki::cell::Tid;
use keyaki::cell::visibility::Authorisations;
use keyaki::engine::ScanRequest;
use keyaki::testing::graph::Package;
use keyaki::{Error, Kind};
use serde_json::{Value as Json, json};

use super::stored::{Stored, in_every_form, operation};

fn schema() -> Json {
    json!({"edges": {"knows": {"source": "v", "destination": "v", "directed": "b"}},
           "types": {"v": {"class": "String"}, "b": {"class": "Boolean"}}})
}

fn who(user: &str, administers: bool) -> Who {
    Who { user: Some(user.to_owned()), roles: Vec::new(), administers }
}

fn begin(stored: &Stored, id: Option<&str>) -> (Tid, bool) {
    begin_as(stored, "ana", id)
}

fn begin_as(stored: &Stored, user: &str, id: Option<&str>) -> (Tid, bool) {
    let (user, auths) = (Some(user.to_owned()), Authorisations::new(["a"]).unwrap());
    let repeat = id.map(operation);
    let jobs = stored.graph.jobs();
    let begun =
        jobs.begin(user, vec!["r".into()], &auths, "OperationChain[Count]".into(), repeat.as_ref());
    let ((id, job), replayed) = stored.runtime.block_on(begun).unwrap();
    assert!(replayed || job.status == JobStatus::Running);
    (id, replayed)
}

fn finish(stored: &Stored, id: Tid, output: Output) {
    let jobs = stored.graph.jobs();
    stored.runtime.block_on(async {
        let kept = jobs.keep_results(id, output).await;
        jobs.end(id, kept).await.unwrap();
    });
}

/// Cells of primaries: jobs and pieces of their results.
fn primaries(stored: &Stored) -> usize {
    let bucket = stored.graph.bucket();
    let engine = bucket.store().engine();
    stored.runtime.block_on(async {
        let mut cells = 0;
        for split in engine.splits(bucket.primary(), 1).await.unwrap() {
            let mut scan = engine.scan(ScanRequest::split(bucket.primary(), split)).await.unwrap();
            while let Some(block) = scan.next_block().await.unwrap() {
                cells += block.len();
            }
        }
        cells
    })
}

#[test]
fn results_are_for_their_user_with_the_same_authorisations() {
    in_every_form(&schema(), |stored| {
        let (id, _) = begin(stored, None);
        let name = id.to_string();
        let ask = |who: Who, auths: &[&str]| {
            let seen =
                stored.graph.jobs().seen_by(who, Authorisations::new(auths.to_vec()).unwrap());
            stored.runtime.block_on(async { (seen.job(&name).await, seen.results(&name).await) })
        };
        let (job, results) = ask(who("ana", false), &["a"]);
        let started = job.unwrap()["startTime"].clone();
        assert!(results.unwrap_err().to_string().contains("still runs"));
        finish(stored, id, Output::Json(json!({"n": 1})));
        let (job, results) = ask(who("ana", false), &["a", "b"]);
        assert_eq!(
            job.unwrap(),
            json!({
                "jobId": name, "user": {"userId": "ana", "dataAuths": ["a"], "opAuths": ["r"]}, "status": "FINISHED",
                "startTime": started, "endTime": started, "opChain": "OperationChain[Count]"
            })
        );
        assert_eq!(results.unwrap(), json!([{"n": 1}]), "one thing is a list of one");
        let (job, results) = ask(who("ana", false), &[]);
        assert!(job.is_ok() && results.unwrap_err().kind() == Kind::NotFound);
        let (job, results) = ask(who("eve", false), &["a"]);
        assert!(job.is_err() && results.is_err());
        let (job, results) = ask(who("root", true), &["a"]);
        assert!(job.is_ok() && results.is_err());
    });
}

#[test]
fn a_job_whose_server_has_gone_has_failed() {
    in_every_form(&schema(), |stored| {
        let (jobs, (id, _)) = (stored.graph.jobs(), begin(stored, None));
        let status = || {
            let job = stored.runtime.block_on(jobs.find(id)).unwrap().unwrap();
            (job.status, job.ended_ms.is_some())
        };
        stored.later(BELIEVED_FOR - Duration::from_secs(1));
        stored.runtime.block_on(jobs.renew(id)).unwrap();
        stored.later(BELIEVED_FOR - Duration::from_secs(1));
        assert_eq!(status(), (JobStatus::Running, false));
        stored.later(Duration::from_secs(2));
        assert_eq!(status(), (JobStatus::Failed, true));
        let all = stored.runtime.block_on(jobs.all()).unwrap();
        assert_eq!(all[0].1.status, JobStatus::Failed);
        stored.runtime.block_on(jobs.end(id, Err(Error::invalid("too much")))).unwrap();
        let job = stored.runtime.block_on(jobs.find(id)).unwrap().unwrap();
        assert_eq!(job.description.as_deref(), Some("too much"), "it was there all the same");
        let over = stored.runtime.block_on(jobs.renew(id)).unwrap_err();
        assert_eq!(over.kind(), Kind::Conflict);
    });
}

#[test]
fn a_repeat_begins_nothing() {
    in_every_form(&schema(), |stored| {
        let (first, replayed) = begin(stored, Some("one"));
        assert!(!replayed);
        assert_eq!(begin(stored, Some("one")), (first, true));
        assert_ne!(begin(stored, Some("two")).0, first);
        assert_eq!(stored.runtime.block_on(stored.graph.jobs().all()).unwrap().len(), 2);
    });
}

#[test]
fn large_results_come_in_pieces_and_go_with_their_job() {
    in_every_form(&schema(), |stored| {
        let jobs = stored.graph.jobs();
        let (id, _) = begin(stored, None);
        let large: Vec<String> = (0..40_000).map(|i| format!("value number {i:06}")).collect();
        finish(stored, id, Output::Json(json!(large)));
        let job = stored.runtime.block_on(jobs.find(id)).unwrap().unwrap();
        assert!(job.pieces > 1 && job.bytes > 800_000, "{job:?}");
        let seen =
            stored.graph.jobs().seen_by(who("ana", false), Authorisations::new(["a"]).unwrap());
        let got = stored.runtime.block_on(seen.results(&id.to_string())).unwrap();
        assert_eq!(got, json!(large));
        assert_eq!(primaries(stored), 1 + job.pieces as usize);
        stored.later(KEPT_FOR / 2);
        let (other, _) = begin(stored, None);
        finish(stored, other, Output::Nothing);
        stored.later(KEPT_FOR / 2);
        stored.runtime.block_on(jobs.tidy()).unwrap();
        let left: Vec<_> =
            stored.runtime.block_on(jobs.all()).unwrap().iter().map(|(id, _)| *id).collect();
        assert_eq!((left, primaries(stored)), (vec![other], 2), "nothing of the first is left");
    });
}

#[test]
fn what_failed_leaves_no_results() {
    in_every_form(&schema(), |stored| {
        let (jobs, (id, _)) = (stored.graph.jobs(), begin(stored, None));
        stored.runtime.block_on(async {
            jobs.keep_results(id, Output::Json(json!([1, 2]))).await.unwrap();
            jobs.end(id, Err(Error::invalid("too much"))).await.unwrap();
        });
        assert_eq!(primaries(stored), 1);
    });
}

#[test]
fn chains_are_told_in_short() {
    let stored = Stored::on_memory(&schema(), Package::ByteEntity, &[]).unwrap();
    let short = |json: Json| {
        let names = keyaki::bucket::graph::operation::NoNames;
        Step::from_json(&json, stored.graph.schema(), &names).unwrap().overview()
    };
    let all = json!({"class": "uk.gov.gchq.gaffer.operation.impl.get.GetAllElements"});
    assert_eq!(short(all.clone()), "OperationChain[GetAllElements]");
    assert_eq!(
        short(json!({"operations": [all, {"class": "Count"}]})),
        "OperationChain[GetAllElements->Count]"
    );
}

#[test]
fn jobs_have_these_bytes() {
    let stored = Stored::on_memory(&schema(), Package::ByteEntity, &[]).unwrap();
    let (id, _) = begin(&stored, None);
    finish(&stored, id, Output::Json(json!([1])));
    let bucket = stored.graph.bucket();
    let cell = |partition: Vec<u8>| {
        stored.runtime.block_on(async {
            let request = ScanRequest::partition(bucket.primary(), partition);
            let mut scan = bucket.store().engine().scan(request).await.unwrap();
            let block = scan.next_block().await.unwrap().unwrap();
            let cell = block.get(0);
            (cell.sort().to_vec(), String::from_utf8_lossy(cell.payload()).into_owned())
        })
    };
    let now = super::NOW_MS;
    let job = format!(
        r#"{{"user":"ana","roles":["r"],"auths":["a"],"chain":"OperationChain[Count]","status":"FINISHED","startedMs":{now},"endedMs":{now},"believedMs":{},"pieces":1,"bytes":3}}"#,
        now + 30_000
    );
    assert_eq!(cell(b"jobs".to_vec()), (id.as_bytes().to_vec(), job));
    let partition = [b"job\0", &id.as_bytes()[..]].concat();
    assert_eq!(cell(partition), (vec![0; 4], "[1]".to_owned()));
}

/// Whoever begins very many loses their own.
#[test]
fn jobs_push_out_those_of_their_user() {
    const ONES_MOST: usize = 250;
    let stored = Stored::on_memory(&schema(), Package::ByteEntity, &[]).unwrap();
    let (anas, _) = begin(&stored, None);
    finish(&stored, anas, Output::Nothing);
    let mut bobs = Vec::new();
    for _ in 0..ONES_MOST + 2 {
        let (id, _) = begin_as(&stored, "bob", None);
        finish(&stored, id, Output::Nothing);
        bobs.push(id);
    }
    let all = stored.runtime.block_on(stored.graph.jobs().all()).unwrap();
    let ids: Vec<Tid> = all.iter().map(|(id, _)| *id).collect();
    assert!(ids.contains(&anas), "another's stays");
    assert_eq!(ids.len(), ONES_MOST + 1);
    assert!(!ids.contains(&bobs[0]) && !ids.contains(&bobs[1]), "the oldest go");
    for _ in 0..ONES_MOST {
        begin_as(&stored, "eve", None);
    }
    let jobs = stored.graph.jobs();
    let auths = Authorisations::none();
    let refused = jobs.begin(Some("eve".to_owned()), Vec::new(), &auths, String::new(), None);
    let refused = stored.runtime.block_on(refused).unwrap_err();
    assert_eq!(refused.kind(), Kind::Unavailable, "those that run stay");
    begin(&stored, None);
}
