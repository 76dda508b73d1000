// main() of the tests that need no device.
#include "cases.hpp"

int main(int argc, char** argv) { return sinter::testing::run_cases(argc, argv); }
