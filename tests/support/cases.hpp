// Runs the test cases of a program: all of them, or a sample within a time limit.
#pragma once

namespace sinter::testing {

/// Runs the test cases that the arguments choose, by default all. $SINTER_TEST_SECONDS limits the time: cases are then run in a random order until the time is
/// over, but at least one. $SINTER_TEST_SEED repeats an order. $SINTER_TEST_LIMIT is a second limit of the same kind, for programs whose cases would take too
/// long even in a long run. Returns the exit status of the process.
int run_cases(int argc, char** argv);

/// Returns whether the time limit is over; never without a limit. A test case that goes through a long list in a random order stops then.
bool time_is_over();

/// Says whether the time is bounded at all.
bool is_sample();

}  // namespace sinter::testing
