//! What a store promises, case by case, for any backend.

pub(crate) mod collapse;
pub(crate) mod decide;
pub(crate) mod fetch;
pub(crate) mod nodes;
pub(crate) mod overview;
pub(crate) mod relay;
pub(crate) mod schedule;
pub(crate) mod support;
pub(crate) mod unique;
pub(crate) mod upkeep;

/// Runs every case on a database of its own.
#[macro_export]
macro_rules! suite {
    ($store:ty, $open:path) => {
        $crate::suite! { $store, $open:
            unique: a_key_is_taken_until_its_message_is_done, a_key_is_taken_for_a_time,
                of_equal_keys_in_one_batch_the_first_is_published, an_id_given_twice_takes_no_key,
                what_is_dead_or_parked_counts_as_done, what_failed_or_is_for_later_is_not_done;
            fetch: only_the_newest_of_its_kind_runs, one_that_was_tried_is_not_superseded, what_is_older_is_superseded_by_what_is_done,
                a_failed_row_holds_back_its_key_unless_order_is_relaxed, a_parked_row_holds_back_its_key_in_any_order,
                what_waits_too_long_goes_before_all_priorities, a_fetch_goes_on_where_the_last_one_came_to, a_line_keeps_its_order_though_its_second_waited_longer,
                behind_a_waiting_row_time_stands_still, what_was_set_aside_comes_back_up_to_the_next_that_waits;
            decide: a_letter_is_written_once_and_replayed_once, a_parked_row_is_replayed_before_what_waits_behind_it,
                a_skipped_letter_stays_dead_and_can_be_replayed_later, a_discarded_letter_frees_its_key,
                a_halted_slot_stands_still_until_the_last_letter_is_decided,
                of_two_parked_rows_of_a_key_each_answers_for_its_own_time, an_edit_may_change_the_key,
                letters_are_found_by_everything_they_have, letters_come_page_by_page, a_renamed_consumer_keeps_its_letters,
                expired_messages_are_found_in_line;
            schedule: what_has_not_started_can_be_taken_back,
                what_is_due_by_now_can_still_be_taken_back_or_moved, what_has_not_started_can_be_moved_with_its_time_to_live,
                a_recurring_message_fires_once_per_time;
            nodes: a_slot_belongs_to_one_node_at_a_time, the_clock_of_the_database_decides_who_is_dead,
                what_a_dead_node_settles_is_refused, what_a_node_took_while_it_was_declared_dead_is_free, a_name_is_taken_while_its_node_is_there,
                unknown_rows_hold_their_key_back_until_somebody_knows_them, only_the_slots_held_are_looked_at,
                a_paused_consumer_is_surveyed_as_such;
            overview: what_waits_is_counted_by_state_with_the_age_of_what_could_run, nodes_are_seen_with_what_they_hold,
                a_pause_is_stored_once_and_moves_the_generation_on, while_paused_the_time_to_live_stands_still,
                time_that_stood_still_for_two_reasons_is_added_once, a_subscription_ends_when_nobody_runs_the_consumer,
                a_node_that_joins_after_that_gets_its_messages_again, every_name_leads_to_its_consumer;
            relay: a_destination_is_one_consumer_however_often_it_is_registered,
                what_came_from_afar_is_for_consumers_of_this_database_only,
                whoever_has_an_older_epoch_is_refused_with_all_it_brings,
                what_was_seen_is_dropped_for_a_week_whatever_the_setting_says, a_relay_takes_what_nobody_knows,
                what_was_sent_is_noted_and_forgotten_in_time, a_database_knows_who_it_is;
            upkeep: what_has_ended_is_deleted_when_its_time_is_over, kept_for_ever_is_kept,
                a_database_of_version_1_is_brought_up_to_date;
        }
    };
    ($store:ty, $open:path: $($room:ident: $($case:ident),+;)+) => {$(
        mod $room {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    cases::$room::$case::<$store>($open().await).await;
                }
            )+
        }
    )+};
}
