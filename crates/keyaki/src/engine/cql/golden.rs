//! Every format that the engine keeps for itself, as `docs/format.md` tells it: a change here is a new layout.

use proptest::prelude::*;

use super::claims::Note;
use super::intent::{self, IntendedClaim, Intent, Recorded};
use super::nodes::Listed;
use super::own::{self, Directory};
use super::rows::Base;
use crate::cell::{Tid, Time};
use crate::engine::commit::{Home, StoredWrite};
use crate::engine::space::{BucketId, SpaceId};

const TID: &str = "018bcfe5687b71c8800000000000002a";

fn tid() -> Tid {
    Tid::new(Time::from_micros(1_700_000_000_123_456), 42)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn home() -> Home {
    Home { bucket: BucketId(7), partition: b"p\0q".to_vec() }
}

fn claim() -> IntendedClaim {
    IntendedClaim {
        space: SpaceId(9),
        bucket: BucketId(7),
        name: b"name".to_vec(),
        taken: true,
        owner: b"owner".to_vec(),
    }
}

#[test]
fn an_intent_is_stored_like_this() {
    let header = "01000000000000000700000003700071";
    let claims = "00000001000000090000000000000007000000046e616d6501000000056f776e6572";
    let mut records = Vec::new();
    for (key, write) in [
        (&b"k1"[..], StoredWrite::Put(b"v")),
        (b"k2", StoredWrite::Delete),
        (b"k3", StoredWrite::Merge(b"m")),
    ] {
        intent::append_record(&mut records, (key, write));
    }
    let stored = "00000000026b310000000176" // put
        .to_owned()
        + "01000000026b3200000000" // delete
        + "02000000026b33000000016d"; // merge
    assert_eq!(hex(&records), stored);
    for (recorded, tail) in [
        (Recorded::Here(records), format!("ffffffff{stored}")),
        (Recorded::Parts(3), "00000003".to_owned()),
        (Recorded::Growing, "00000000".to_owned()),
    ] {
        let intent = Intent { tid: tid(), home: home(), claims: vec![claim()], records: recorded };
        assert_eq!(hex(&intent.encode()), format!("{header}{claims}{tail}"));
        assert_eq!(Intent::decode(tid(), &intent.encode()).unwrap(), intent);
    }
}

#[test]
fn the_number_of_parts_replaces_the_note_that_they_are_being_written() {
    let of = |records| Intent { tid: tid(), home: home(), claims: Vec::new(), records }.encode();
    assert!(of(Recorded::Parts(1)) > of(Recorded::Growing), "the greater of two values stays");
}

#[test]
fn the_other_rows_are_stored_like_this() {
    let note = Note { tid: tid(), home: home(), taken: true, owner: b"owner".to_vec() };
    assert_eq!(
        hex(&note.encode()),
        format!("{TID}00000000000000070000000370007101000000056f776e6572")
    );
    let (settled, written) = (Time::from_micros(1), Time::from_micros(2));
    let node = Listed { node: 42, settled, written };
    assert_eq!(hex(&node.encode()), "00000000000000010000000000000002");
    assert_eq!(hex(&Base::encode_folded(&[tid(), tid()])), format!("{TID}{TID}"));
}

#[test]
fn keys_are_stored_like_this() {
    assert_eq!(hex(&own::operand(b"a\0b", tid())), format!("6101016200{TID}"));
    let intents = hex(&own::intent_of(tid()));
    assert_eq!(intents, format!("{}00{:016x}{:016x}", hex(b"intent"), 42, 170_000_000));
    assert_eq!(hex(&own::part(tid(), 70)), format!("{}00{TID}00000002", hex(b"part")));
    assert_eq!(hex(&own::nodes()), format!("{}00", hex(b"nodes")));
    let homes = Directory::Homes(BucketId(7)).partition(5);
    assert_eq!(hex(&homes), format!("{}0000000000000000070005", hex(b"homes")));
    let cells = Directory::Cells(SpaceId(9)).partition(5);
    assert_eq!(hex(&cells), format!("{}00000000090005", hex(b"cells")));
    assert_eq!(Directory::shard_of(b"partition"), 30);
}

proptest! {
    #[test]
    fn operands_sort_by_cell_and_then_by_commit(
        a in proptest::collection::vec(0_u8..4, 0..5),
        b in proptest::collection::vec(0_u8..4, 0..5),
        early in 0_u64..9,
        late in 0_u64..9,
    ) {
        let at = |micros| Tid::new(Time::from_micros(micros), 0);
        let rows = own::operand(&a, at(early)).cmp(&own::operand(&b, at(late)));
        prop_assert_eq!(rows, (&a, early).cmp(&(&b, late)));
        let row = own::operand(&a, at(early));
        let (sort, tid) = own::split_operand(&row).unwrap();
        prop_assert_eq!((sort.as_ref(), tid), (&a[..], at(early)));
    }

    #[test]
    fn no_bytes_are_read_as_an_intent_in_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = Intent::decode(tid(), &bytes);
        let _ = intent::records(&bytes);
        let _ = Note::decode(&bytes);
    }
}
