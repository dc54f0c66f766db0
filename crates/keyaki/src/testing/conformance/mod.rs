//! What every engine must do: one table of cases, run whole against each.
//!
//! The names, read from top to bottom, are the contract. A new engine is done when it passes
//! them all; one that must skip a case says so in a list of [`Skip`]s, each with its reason, so
//! that nothing is left out in silence. The cases know an engine only through [`Fixture`], and
//! run their concurrent parts on the tasks of a multi-thread runtime.

#![expect(clippy::unwrap_used, reason = "a case that can't go on should say so")]

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;

use super::clock::FakeClock;
use crate::engine::{BucketId, Engine};

mod atomic;
mod bulk;
mod claims;
mod conditions;
mod faults;
mod keeps;
mod limits;
mod merges;
mod rules;
mod scans;
mod spaces;
mod splits;
pub mod steps;

pub use rules::{panic_quietly, rules};

/// The bucket that all commits of [`steps`] are of.
pub const BUCKET: BucketId = BucketId(7);

/// An engine under test, fresh for each case, opened with [`rules()`].
#[async_trait]
pub trait Fixture: Send + Sync {
    /// The engine.
    fn engine(&self) -> &Arc<dyn Engine>;

    /// The wall clock of the engine's clock.
    fn clock(&self) -> &FakeClock;

    /// Closes the engine and opens it again, if it outlives its process. The case holds no
    /// other handle of it now.
    async fn reopen(&mut self);

    /// Waits until the dependents of all acknowledged commits can be read.
    async fn settle(&self) {}
}

type Trial = Box<dyn Fixture>;

/// A sentence of the contract, and what shows that it holds.
pub struct Case {
    /// The sentence.
    pub name: &'static str,
    run: fn(Trial) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// A case that an engine can't pass, and why that is all right.
pub struct Skip {
    /// The case's name.
    pub case: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// Runs every case that is not skipped, each on a fixture of its own. Answers those that failed.
///
/// # Panics
/// If `skips` names no case: then the case was renamed, and would be skipped for no reason.
pub async fn run(fresh: impl AsyncFn() -> Trial, skips: &[Skip]) -> Vec<&'static str> {
    for skip in skips {
        let known = CASES.iter().any(|case| case.name == skip.case);
        assert!(known, "no case is called `{}`", skip.case);
    }
    let mut failed = Vec::new();
    for case in CASES {
        if let Some(skip) = skips.iter().find(|skip| skip.case == case.name) {
            println!("skipped: {}, for {}", case.name, skip.reason);
            continue;
        }
        println!("{}", case.name);
        // In a task of its own, so that a panic ends the case and not the run.
        if tokio::spawn((case.run)(fresh().await)).await.is_err() {
            println!("FAILED: {}", case.name);
            failed.push(case.name);
        }
    }
    failed
}

macro_rules! cases {
    ($($name:literal: $case:path,)*) => {
        &[$(Case { name: $name, run: |fixture| Box::pin($case(fixture)) },)*]
    };
}

/// The contract.
pub const CASES: &[Case] = cases! {
    // Home writes are atomic, isolated and durable when acknowledged.
    "a commit's writes take effect together": atomic::writes_take_effect_together,
    "a refused commit writes nothing, near or far": atomic::refused_commits_write_nothing,
    "readers never see half of a commit's home writes": atomic::readers_never_see_half,
    "the home spaces of a bucket change together": atomic::home_spaces_change_together,
    "concurrent conditional increments lose nothing": atomic::concurrent_increments_lose_nothing,
    "of many racing commits that expect the same, one takes": atomic::one_of_many_racing_commits_takes,
    "acknowledged commits are there after reopening": atomic::acknowledged_commits_survive_reopening,

    // Dependents take effect exactly once, if and only if the home writes took.
    "dependents reach many partitions": atomic::dependents_reach_many_partitions,
    "no dependent is seen before its home write": atomic::dependents_never_precede_their_home,
    "dependents appear with their home writes": atomic::dependents_appear_with_their_home,

    // If a condition is not met, the caller learns which and what is there.
    "a failed expectation says which, and what is there": conditions::failed_expectations_say_what_is_there,
    "a commit whose expectations are met takes": conditions::met_expectations_let_a_commit_take,
    "an expectation looks at its own partition only": conditions::expectations_look_at_their_own_partition,
    "to equal is to equal the whole stored value": conditions::equal_means_the_whole_stored_value,
    "a commit may be conditions alone, or empty": conditions::commits_may_be_conditions_alone_or_empty,

    // Commit time rises strictly per home partition.
    "a value carries the time of its commit": conditions::values_carry_their_commits_time,
    "a commit as late as another of its home or earlier is stale": conditions::time_rises_within_a_home,
    "the clock stays ahead of what is stored": conditions::the_clock_stays_ahead_of_what_is_stored,

    // A merge folds exactly once, by any associative function.
    "a sum counts every merge once": merges::sums_count_every_merge_once,
    "a maximum and a minimum are found among all merges": merges::maxima_and_minima_are_found,
    "a set holds every merged member once": merges::sets_hold_every_member_once,
    "an order-dependent fold keeps the commit order of each home": merges::an_order_dependent_fold_keeps_commit_order,
    "merges go on where compaction has folded": merges::merges_go_on_where_compaction_has_folded,
    "repeated merges in one commit fold in their order": merges::repeated_merges_in_one_commit_fold_in_order,
    "a refused merge counts nothing": merges::a_refused_merge_counts_nothing,
    "a merged cell is for those who may see all its parts": merges::a_merged_cell_demands_what_all_its_parts_demand,
    "repeated merges are for those who may see each": merges::repeated_merges_demand_what_each_demands,
    "a merged cell is as late as its latest part": merges::a_merged_cell_is_as_late_as_its_latest_part,
    "a merge after a delete begins anew": merges::merging_after_deleting_begins_anew,

    // What a space no longer keeps is invisible at once and removed later; nothing vanishes silently.
    "a cell that has aged is hidden at once": keeps::aged_cells_are_hidden_at_once,
    "a hidden cell is absent to expectations": keeps::hidden_cells_are_absent_to_expectations,
    "hidden cells don't count against a limit": keeps::hidden_cells_do_not_count_against_a_limit,
    "no number of hidden cells ends a scan": keeps::hidden_cells_end_no_scan,
    "a cell that has aged stays gone after compaction": keeps::aged_cells_stay_gone_after_compaction,
    "a sweep removes what has aged, and only that": keeps::a_sweep_removes_what_has_aged_and_only_that,
    "an invalid cell goes to quarantine whole": keeps::invalid_cells_go_to_quarantine_whole,
    "each invalid value of a cell goes to quarantine": keeps::each_invalid_value_of_a_cell_is_quarantined,
    "without a quarantine an invalid cell stays, hidden": keeps::without_a_quarantine_invalid_cells_stay_hidden,
    "a merged cell is judged by its folded value": keeps::merged_cells_are_judged_folded,
    "an expired part counts in later merges until it is swept": keeps::an_expired_part_counts_until_it_is_swept,
    "a cell that changes while a sweep runs survives": keeps::a_cell_changed_while_a_sweep_runs_survives,

    // Rules are code and may fail: that hides the cell they fail at, and nothing else.
    "a cell that can't be folded is hidden, and hides no other": faults::unfoldable_cells_are_hidden_and_no_others,
    "operands that can't be folded go to quarantine one by one": faults::unfoldable_operands_go_to_quarantine_one_by_one,
    "no operand is lost on its way to quarantine": faults::no_unfoldable_operand_is_lost,
    "without a quarantine what can't be folded stays, hidden": faults::without_a_quarantine_unfoldable_cells_stay_hidden,
    "a keep rule that panics hides its cell, but removes nothing": faults::a_keep_rule_that_panics_hides_but_removes_nothing,
    "a keep rule that panics ends no writing": faults::a_keep_rule_that_panics_ends_no_writing,

    // A name has one owner.
    "a name goes to the first who claims it": claims::a_name_goes_to_the_first_who_claims_it,
    "an owner may claim its name again": claims::an_owner_may_claim_again,
    "a released name is free": claims::a_released_name_is_free,
    "only the owner releases a name": claims::only_the_owner_releases,
    "one commit releases a name and claims another": claims::a_name_changes_hands_in_one_commit,
    "no claim is taken if another condition fails": claims::a_claim_is_not_taken_if_another_condition_fails,
    "of many racing claims of a name, one wins": claims::one_of_many_racing_claims_wins,

    // A scan goes forward or backward over a range of one partition.
    "cells come in memcmp order of their sort keys": scans::cells_come_in_memcmp_order_of_their_sort_keys,
    "partitions never bleed into each other": scans::partitions_never_bleed_into_each_other,
    "a scan tells the partition of each cell": scans::scans_tell_the_partition_they_are_in,
    "every combination of bounds and directions is right": scans::every_combination_of_bounds_is_right,
    "a prefix finds what starts with it": scans::a_prefix_finds_what_starts_with_it,
    "a limit ends a scan exactly": scans::a_limit_ends_a_scan_exactly,
    "pages resume where they ended, both ways": scans::pages_resume_where_they_ended_both_ways,
    "pages miss nothing while writers run": scans::pages_miss_nothing_while_writers_run,
    "a scan shows one snapshot": scans::a_scan_shows_one_snapshot,
    "a scan can be left before its end": scans::a_scan_can_be_left,
    "keys of 32 KiB are the longest": scans::keys_of_32_kib_are_the_longest,
    "empty keys are keys like others": scans::empty_keys_are_keys_like_others,

    // Splits cut a space into ranges of about equal size; together they cover it once.
    "splits cover a small space once and evenly": splits::splits_cover_small_spaces_evenly,
    "splits cover a large space once and evenly": splits::splits_cover_large_spaces_evenly,
    "splits are even where one partition holds most": splits::splits_are_even_where_one_partition_holds_most,
    "splits are even under long common prefixes": splits::splits_are_even_under_long_common_prefixes,
    "more parts than cells are no trouble": splits::more_parts_than_cells_are_no_trouble,
    "a split is read both ways and within a limit": splits::a_split_is_read_both_ways_and_within_a_limit,

    // The bulk route is another way to the disk for the same commit.
    "both routes do the same": bulk::both_routes_do_the_same,
    "a refused bulk commit leaves nothing": bulk::a_refused_bulk_commit_leaves_nothing,
    "conditions see across both routes": bulk::bulk_and_log_see_each_others_cells,
    "merges by both routes mix": bulk::merges_by_bulk_and_by_log_mix,
    "repeated merges in a bulk commit fold in their order": bulk::repeated_merges_in_a_bulk_commit_fold_in_order,
    "commits by both routes at once keep the order of each home": bulk::bulk_and_log_keep_their_order_at_once,
    "readers never see half of a bulk commit": bulk::readers_never_see_half_of_a_bulk_commit,
    "a stale bulk commit writes nothing": bulk::a_stale_bulk_commit_writes_nothing,
    "bulk commits of one time in several homes never meet": bulk::commits_of_one_time_never_meet,
    "a bulk commit keeps the contract like any other": bulk::bulk_commits_keep_the_contract_too,
    "a large chunk arrives whole": bulk::large_chunks_arrive_whole,

    // Home and derived spaces don't mix; a dropped space is gone, and its id never given again.
    "home and derived spaces never mix": spaces::home_and_derived_spaces_never_mix,
    "puts and merges never mix": spaces::puts_and_merges_never_mix,
    "a commit stays in its bucket": spaces::a_commit_stays_in_its_bucket,
    "a commit writes each cell once": spaces::a_commit_writes_each_cell_once,
    "rules must fit the kind of their space": spaces::rules_must_fit_the_kind_of_space,
    "spaces come and go together": spaces::spaces_come_and_go_together,
    "spaces are listed as they were made": spaces::spaces_are_listed_as_they_were_made,
    "a dropped space is gone at once and for good": spaces::a_dropped_space_is_gone_at_once_and_for_good,
    "a space dropped under its writers takes no more": spaces::a_space_dropped_under_its_writers_takes_no_more,
    "ids are never given again": spaces::ids_are_never_given_again,
    "an unknown space is refused": spaces::unknown_spaces_are_refused,

    // Bad input is refused whole.
    "a malformed visibility is refused": limits::malformed_visibilities_are_refused,
    "a well-formed visibility is kept as written": limits::well_formed_visibilities_are_kept_as_written,
    "only engines leave operands unfolded": limits::unfolded_values_are_refused,
    "values have a longest": limits::values_have_a_longest,
    "commits have a largest": limits::commits_have_a_largest,
    "conditions have no longer keys than cells": limits::oversized_keys_in_conditions_are_refused,
};
