// Runs the test cases of a program: all of them, or a sample that fits a time.
#pragma once

namespace sinter::testing {

/// Runs the test cases that the arguments choose, all by default. $SINTER_TEST_SECONDS bounds the time: cases are then run in a random order until
/// that time is over, at least one. $SINTER_TEST_SEED repeats an order. $SINTER_TEST_LIMIT is such a bound, too, for programs of which nobody waits
/// for all cases. Returns the exit status of the process.
int run_cases(int argc, char** argv);

/// Says whether the time for the sample is over. A test case that goes through a long list in a random order stops then; it never is without a bound.
bool time_is_over();

/// Says whether the time is bounded at all.
bool is_sample();

}  // namespace sinter::testing
